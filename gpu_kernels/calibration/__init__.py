"""Fits the GPU time model on microbenchmarks, one part of the measurements per parameter."""
