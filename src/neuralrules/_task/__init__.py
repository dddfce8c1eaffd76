"""What a model predicts (classes or numbers), and the loss that measures its errors."""
