"""`s2anta_prop`: tile budgets by largest remainder, as published; biased."""
