"""What is asked: data sets with frozen ids, splits, protocols, and tasks made of them."""
