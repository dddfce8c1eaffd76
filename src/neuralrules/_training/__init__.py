"""Joint training of all rules of a network."""
