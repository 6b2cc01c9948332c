"""Timing the kernels and their peers in one run: `python -m gpu_kernels.bench`."""
