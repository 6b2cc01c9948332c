"""`s2anta_comb`: one comb over the whole softmax, found through tile and block masses."""
