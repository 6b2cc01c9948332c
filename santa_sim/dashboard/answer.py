"""What the explorer's page is given: the same tables as a report, for the points worth drawing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from santa_sim.dashboard.store import DETAILED, FACETS, Store, View, Wanted
from santa_sim.report.packed import packed
from santa_sim.report.page import page
from santa_sim.report.page_data import NUMBERS, ROUNDED, series
from santa_sim.report.section import Figure, Section
from santa_sim.report.view import ERROR_BUDGET, family

if TYPE_CHECKING:
    import pandas as pd

_SECTIONS = (
    Section("summary", "Summary", "What is best on each accelerator?",
            figures=(Figure("summary"),)),
    Section("pareto", "Pareto", "What does accuracy cost?",
            figures=(Figure("pareto"), Figure("points", "The points as a table"))),
    Section("bytes", "Where bytes go", "Which bytes move?", figures=(Figure("bytes"),)),
    Section("operations", "Operations", "Which operations remain, and in which phase?",
            figures=(Figure("operations"),)),
    Section("energy", "Energy", "Where does the energy go?",
            figures=(Figure("energy"), Figure("tornado", "Which constants matter most"))),
    Section("time", "Time", "How long does a step take at least, and what holds it up?",
            figures=(Figure("time"), Figure("roofline", "Roofline"))),
    Section("scaling", "Scaling", "How does it scale, and from where does a method pay?",
            figures=(Figure("scaling"),)),
)


def start_view(store: Store) -> View:
    """Return what the page shows first: the first attention, accelerator and batch of all runs."""
    wanted: Wanted = {
        name: None if name in ("folder", "method", "samples") else store.facets[name][:1]
        for name in FACETS
    }
    methods = store.facets["method"]
    boundary = store.accounts[store.facets["accelerator"][0]]
    return View(
        wanted, "energy", boundary[-1] if boundary else "device", ERROR_BUDGET,
        "dense" if "dense" in methods else methods[0],
    )


def page_html(store: Store, version: str) -> str:
    """Return the page of the explorer."""
    names = ", ".join(store.facets["folder"])
    byline = (
        f"{store.rows:,} points. Of what a filter leaves, the Pareto front, the baseline, picked "
        "points and a sample are drawn; counts are of all points."
    )
    return page(
        "santa_sim explorer", names, byline, _SECTIONS,
        answer(store, start_view(store), version), live=True,
    )


def answer(store: Store, view: View, version: str) -> str:
    """Return the packed tables for a view."""
    ids = store.drawn(view)
    points = _page_points(store.points(ids))
    detailed = points.assign(row=range(len(points))).nsmallest(DETAILED, "rank", keep="first")
    tables: dict[str, Any] = {"points": points.drop(columns=["number", "point", "rank"])}
    tables |= store.details(detailed[["number", "point", "accelerator", "row"]])
    constants = store.constants()
    tables["constants"] = constants.assign(unverified=constants["unverified"].astype(int))
    return packed(tables, _facts(store, view, version), ROUNDED)


def _page_points(rows: pd.DataFrame) -> pd.DataFrame:
    stages = zip(rows["score_stage"], rows["value_stage"], strict=True)
    samples = rows["samples_requested"].astype("float64")
    return rows[["id", "number", "point", "rank", "folder", "case", *NUMBERS]].assign(
        attention=rows["attention"], accelerator=rows["accelerator"], method=rows["method"],
        case_label=[
            f"{a}, {int(n):,} tokens" + (f", batch {int(b)}" if b > 1 else "")
            for a, n, b in zip(rows["attention"], rows["context"], rows["batch"], strict=True)
        ],
        datasets=1, family=[family(s, v) for s, v in stages],
        series=[series(m, s) for m, s in zip(rows["method"], samples, strict=True)],
        score_stage=rows["score_stage"], value_stage=rows["value_stage"], offsets=rows["offsets"],
        misfit=rows["misfit"], bound=rows["bound"], fits=rows["fits"].astype(int),
    )


def _facts(store: Store, view: View, version: str) -> dict[str, Any]:
    names = store.facets["accelerator"]
    twins = {name: name.replace("ternary", "bf16") for name in names if "ternary" in name}
    start = start_view(store)
    return {
        "study": "explorer", "live": True, "version": version, "all": store.rows,
        "total": store.count(view.wanted), "facets": store.facets, "titles": store.titles,
        "accounts": store.accounts,
        "references": {name: twin for name, twin in twins.items() if twin in names},
        "start": {
            **{name: None if values is None else list(values)
               for name, values in start.wanted.items()},
            "boundary": start.boundary, "budget": start.budget, "baseline": start.baseline,
        },
    }


def view_of(store: Store, given: object) -> View:
    """Return the view that a page asks for; raises `ValueError` for what no page would ask."""
    if not isinstance(given, dict) or not isinstance(given.get("wanted"), dict):
        raise ValueError("the view must name its filters")
    wanted: Wanted = {}
    for facet in FACETS:
        values = given["wanted"].get(facet)
        if values is not None and not (
            isinstance(values, list) and all(isinstance(v, str) for v in values)
        ):
            raise ValueError(f"filter {facet} must be a list of texts or null")
        wanted[facet] = values
    boundary, along, budget = given.get("boundary"), given.get("along"), given.get("budget")
    if boundary not in ("device", "board") or along not in ("context", "batch", "samples"):
        raise ValueError("unknown boundary or axis")
    if not isinstance(budget, int | float) or not math.isfinite(budget):
        raise ValueError("the error budget must be a number")
    picked = given.get("picked", [])
    if not isinstance(picked, list) or not all(isinstance(i, int) for i in picked):
        raise ValueError("picked must be ids of points")
    return View(wanted, str(given.get("cost")), boundary, float(budget),
                str(given.get("baseline")), along, tuple(picked))
