"""Shared by benchmarks and experiments: timing, memory, tables, cached trainings and other cached results."""
