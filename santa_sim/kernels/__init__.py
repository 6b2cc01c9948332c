"""The hot loops: each reads stored keys or values once, on one core, without the GIL."""
