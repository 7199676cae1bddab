"""What benchmarks and experiments share: timing, memory, tables, trained parsers and other results that are kept."""
