"""Formulas as trees of operations, which know nothing of tables and models."""
