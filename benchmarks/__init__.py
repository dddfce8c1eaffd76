"""Measurements of the library, kept out of the wheel; run them from the project's root."""
