"""What a model is asked for: classes or numbers, and the loss that says how well."""
