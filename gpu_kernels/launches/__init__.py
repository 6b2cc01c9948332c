"""What a decode call launches, described for the time model; needs neither PyTorch nor Triton."""
