"""A fitted model for people: words, tables, explanations, importances."""
