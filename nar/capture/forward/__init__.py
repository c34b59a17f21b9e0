"""One forward pass without data: every ATen call is seen and written to a trace."""
