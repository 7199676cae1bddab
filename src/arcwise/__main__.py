"""``python -m arcwise`` runs the command line."""

from arcwise.cli.main import main

main()
