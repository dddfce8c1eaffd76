"""What two models have in common, and what differs: rule by rule and row by row."""
