"""Fits by several machines together, on a Ray cluster: Ray Data reads, Ray Train trains."""
