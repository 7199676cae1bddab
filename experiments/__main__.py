"""Compute what is missing on all pages of results, one page after the other, within one time budget.

python -m experiments --jobs 8 --budget 50
python -m experiments mcdonald2005 bohnet2016
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Sequence

from experiments.page import PAGES


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Further options, such as --jobs and --report, are those of every page.",
    )
    parser.add_argument("pages", nargs="*", choices=[*PAGES, []], help="pages (default: all)")
    parser.add_argument(
        "--budget", type=float, metavar="MINUTES", help="start no further cell after this time"
    )
    options, others = parser.parse_known_args(argv)
    end = None if options.budget is None else time.monotonic() + 60 * options.budget
    for name in options.pages or PAGES:
        left = [] if end is None else ["--budget", str((end - time.monotonic()) / 60)]
        importlib.import_module(f"experiments.{name}").main([*others, *left])


if __name__ == "__main__":
    main()
