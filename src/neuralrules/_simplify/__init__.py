"""Smaller models."""
