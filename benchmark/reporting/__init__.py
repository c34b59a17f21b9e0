"""What is shown: sets of cells, as tables and figures."""
