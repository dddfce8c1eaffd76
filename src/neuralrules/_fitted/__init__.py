"""A fitted model as a value, and what it did on its training rows."""
