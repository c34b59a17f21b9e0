"""What every room stands on: errors, files, settings, the console, the workspace, processes."""
