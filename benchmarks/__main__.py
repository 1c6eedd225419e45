"""`python -m benchmarks [names]`: runs benchmarks, prints tables, writes benchmarks/results/<name>.json."""

import argparse
import math
import os
import signal
import sys
from pathlib import Path

from rich.console import Console

from benchmarks import compare, render, runner
from benchmarks.catalogue import available, chosen


def parser_of(listing: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Benchmarks:\n{listing}",
        epilog="Exit status 1: a benchmark did not run, a required figure was not met, or a comparison found a change.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="name", help="or that of a folder; default: all of them")
    parser.add_argument(
        "--quick", action="store_true", help="shorter runs; their results do not replace those of long ones"
    )
    parser.add_argument("--again", action="store_true", help="also what has a result of the same code")
    parser.add_argument("--minutes", type=float, help="begin none after these; of all: 120, of all short ones: 10")
    parser.add_argument("--jobs", type=int, help="so many at a time; default: one, two of all short ones")
    parser.add_argument("--here", action="store_true", help="in this process")
    parser.add_argument("--compare", type=Path, metavar="OLD", help="with this result, or those in this folder")
    parser.add_argument("--publish", action="store_true", help="put the results into the documentation; runs nothing")
    return parser


def main() -> int:
    entries = available()
    listing = "\n".join(f"  {name:24} {entry.text}" for name, entry in entries.items())
    parser = parser_of(listing)
    arguments = parser.parse_args()
    names = arguments.names
    try:
        old = compare.collect(arguments.compare) if arguments.compare else {}
        picked = chosen(names or [name for name in old if name in entries], entries)
    except KeyError as unknown:
        parser.error(f"there is no benchmark {unknown}")
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if arguments.publish:
        for path in render.publish(picked if names else []):
            print(f"wrote {path}")
        return 0
    if arguments.here:
        return max(runner.run_here(entry, arguments.quick) for entry in picked)
    minutes = arguments.minutes or (math.inf if names or old else 10.0 if arguments.quick else 120.0)
    jobs = arguments.jobs or (2 if arguments.quick and not names and (os.cpu_count() or 1) > 1 else 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that children end, too
    status = runner.run_all(picked, arguments.quick, arguments.again, bool(names or old), minutes, jobs)
    if arguments.compare:
        status = max(status, compare.show(Console(), old, picked, arguments.quick))
    return status


if __name__ == "__main__":
    sys.exit(main())
