"""Training and prediction by torch, on a CPU or a GPU."""
