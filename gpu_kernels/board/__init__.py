"""What a board says of itself while it works: energy counter, power, clocks."""
