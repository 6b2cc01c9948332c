"""`s2anta_flash`: the same budget of sampled values in every tile, tiles merged by their mass."""
