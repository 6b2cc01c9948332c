"""Exact decode attention: the yardstick of the sampled kernels."""
