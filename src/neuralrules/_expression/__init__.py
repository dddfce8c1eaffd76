"""Formulas as trees of operations. They do not depend on tables and models."""
