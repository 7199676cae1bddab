"""``python -m arcwise`` is ``arcwise``."""

from arcwise.cli.main import main

main()
