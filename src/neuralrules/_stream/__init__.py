"""Fits on tables that are larger than memory: Parquet files, read piece by piece."""
