"""Fused kernels for training and prediction on a GPU."""
