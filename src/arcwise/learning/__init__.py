"""How a model is trained and kept: configurations, the training loop with progress, weights, model files."""
