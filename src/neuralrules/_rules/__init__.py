"""From columns and targets to conjunctive rules: trees, and the leaves they end in."""
