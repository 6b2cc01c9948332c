"""Hardware simulation and energy modelling of stochastic sparse attention."""
