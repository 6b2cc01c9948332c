"""Predicted beside measured attention kernels: time, DRAM bytes and energy, nothing fitted on."""
