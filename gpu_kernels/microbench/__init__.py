"""Microbenchmarks of one GPU: what its memory, caches, arithmetic and launches cost by themselves.

No attention kernel is timed here: a timing model fitted on these files alone predicts those.
"""
