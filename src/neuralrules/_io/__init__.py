"""What the library exchanges with the world beside tables: frames, terminals, files."""
