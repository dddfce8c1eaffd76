"""Simpler models: pruning, rounding and edits by hand."""
