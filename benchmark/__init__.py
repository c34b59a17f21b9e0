"""How good an answer is: metrics, untrained baselines, and tables of both."""
