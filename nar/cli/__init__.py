"""The command line: what each command does, and how its answers look."""
