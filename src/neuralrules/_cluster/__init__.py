"""Fits on the machines of a Ray cluster: Ray Data reads the table, Ray Train trains."""
