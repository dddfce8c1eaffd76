"""Neural rules as flat arrays."""
