"""What the page should show at its start and on its fronts, and the sums that it shows."""


def at_start(points):
    return points[
        (points["attention"] == "real tiny") & (points["context"] == 8192) & (points["batch"] == 1)
        & (points["accelerator"] == "edge_bf16_7nm_lpddr5")
    ]


def sums(traces, kind="bar"):
    """Return row -> sum over stacked bars."""
    found = {}
    for trace in traces:
        if trace["type"] == kind:
            for row, x in zip(trace["rows"], trace["x"], strict=True):
                found[row] = found.get(row, 0.0) + (x or 0.0)
    return found


def front_of(rows, cost):
    """Return the rows that no other of the same case and machine beats, by brute force."""
    kept = set()
    for _, group in rows.groupby(["case", "accelerator"]):
        known = group[group[cost].notna() & group["rel_error"].notna()]
        values = [(c, max(e, 1e-5)) for c, e in
                  zip(known[cost], known["rel_error"], strict=True)]
        for i, (c, e) in enumerate(values):
            beaten = any(
                oc <= c and oe <= e and (oc < c or oe < e) for oc, oe in values
            )
            if not beaten:
                kept.add(known.index[i])
    return kept
