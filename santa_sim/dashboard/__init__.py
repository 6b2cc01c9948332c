"""The live explorer: the figures of the report over the tables of large runs, for one machine."""
