"""`python -m santa_sim.dashboard RUN [RUN ...]`: explore large runs in a browser."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from hw_models.problems import Problem, SpecError
from santa_sim.dashboard.server import Explorer, serve
from santa_sim.dashboard.store import Store

OK, BAD_INPUT = 0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line until it is interrupted; returns 0, or 2 if the input is wrong."""
    options = _parser().parse_args(arguments)
    try:
        if find_spec("duckdb") is None:
            raise SpecError(Problem("the explorer needs DuckDB: pip install 'santa_sim[dash]'"))
        with tempfile.TemporaryDirectory(prefix="santa_sim-") as folder:
            explorer = Explorer(Store(options.runs, Path(folder) / "points.duckdb"))
            try:
                server = serve(explorer, options.host, options.port)
            except OSError as error:
                where = f"{options.host}:{options.port}"
                raise SpecError(Problem(f"cannot listen: {error.strerror}", where)) from None
            with server:
                host, port = server.server_address[:2]
                print(f"http://{host!s}:{port}/", flush=True)  # noqa: T201
                try:
                    server.serve_forever()
                except KeyboardInterrupt:
                    return OK
    except SpecError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return BAD_INPUT
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m santa_sim.dashboard",
        description="Explore runs of up to millions of points in a browser; compare several.",
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "--host", default="127.0.0.1",
        help="the address to listen at (127.0.0.1: this machine only; anyone who reaches another "
        "address can read the runs)",
    )
    parser.add_argument("--port", type=int, default=8050, help="the port (8050; 0: a free one)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
