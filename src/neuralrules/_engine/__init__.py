"""What evaluates a network and takes Adam steps: a plain reference, and a fast engine."""
