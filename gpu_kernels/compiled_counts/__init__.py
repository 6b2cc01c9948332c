"""Registers, shared memory and instructions of the kernels as compiled, counted without a GPU."""
