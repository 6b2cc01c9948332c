"""`bernoulli_qk`: queries as sums of random ternary digits, keys stored feature by feature."""
