"""Triton decode-attention kernels and the measurements that check the models."""
