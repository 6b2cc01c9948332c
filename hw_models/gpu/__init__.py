"""Time and power of kernel launches on a GPU, from a datasheet or from microbenchmarks."""
