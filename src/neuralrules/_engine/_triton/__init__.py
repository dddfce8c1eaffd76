"""Kernels that fuse a step of training on a GPU."""
