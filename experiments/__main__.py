"""Compute what is missing on all pages of results, one page after the other, within one time budget.

python -m experiments --jobs 8 --budget 50
python -m experiments mcdonald2005 bohnet2016
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Sequence

from experiments.page import PAGES, add_page_options


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [PAGE ...] [options]",
        epilog=f"PAGE: one of {', '.join(PAGES)} (default: all of them)",
    )
    # Pages are what the options leave: as an optional positional argument they would take values of options.
    add_page_options(parser)
    arguments = list(sys.argv[1:] if argv is None else argv)
    options, pages = parser.parse_known_args(arguments)
    unknown = [name for name in pages if name not in PAGES]
    if unknown:
        parser.error(f"found {unknown[0]!r}, expected options and pages: {', '.join(PAGES)}")
    others = [argument for argument in arguments if argument not in pages]
    end = None if options.budget is None else time.monotonic() + 60 * options.budget
    for name in pages or PAGES:
        left = [] if end is None else ["--budget", str((end - time.monotonic()) / 60)]
        importlib.import_module(f"experiments.{name}").main([*others, *left])


if __name__ == "__main__":
    main()
