"""Training infrastructure: configurations, the training loop, cross-validation, model files."""
