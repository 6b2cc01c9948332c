"""Accelerator models: ledgers of operations and bytes in, joules and seconds out."""
