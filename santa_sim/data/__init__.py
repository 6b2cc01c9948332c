"""Where q, K and V come from: captures of real models, and synthetic attention of a stated law."""
