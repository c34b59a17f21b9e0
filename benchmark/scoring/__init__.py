"""How good an answer is: metrics, means with intervals, differences."""
