"""The tornado and the roofline in the browser, against the tables."""

import pytest
from made_up_study import HIGH, LOW, MACHINES
from page_oracle import at_start

DETAIL = 2.0**-15


def test_a_constant_at_an_end_moves_the_whole_by_the_terms_that_name_it(live, points, tables):
    live.only("accelerator", "gpu_hbm3")
    live.menu("boundary", "board")
    wanted = points[(points["accelerator"] == "gpu_hbm3") & (points["attention"] == "real tiny")
                    & (points["context"] == 8192)]
    row = wanted.index[wanted["method"] == "dense"][0]
    live.set(picked=[int(row)])
    raw = tables.points[(tables.points["method"] == "dense")
                        & (tables.points["dataset"] == "tiny t2")]
    energy = tables.energy[(tables.energy["point"] == raw["point"].iloc[0])
                           & (tables.energy["accelerator"] == "gpu_hbm3")
                           & (tables.energy["account"] == "board")]
    terms = energy.groupby("constant")["nominal_j"].sum()
    terms = terms[terms > 0]  # dense has no scratch to buffer
    total = wanted["board_energy_j"][row]
    assert terms.sum() == pytest.approx(total, rel=1e-9)
    static = terms["static.board.power"]
    ends = {
        end: {
            *((total + j * (factor - 1)) for j in terms),
            # static energy also lasts as long as the step
            total + static * (wanted[f"time_{end}_s"][row] / wanted["time_s"][row] - 1),
        } for end, factor in (("low", LOW), ("high", HIGH))
    }
    for trace, end in zip(live.drawn("tornado"), ("low", "high"), strict=True):
        found = [x for x in trace["x"][1::3] if x is not None]
        assert sorted(found) == pytest.approx(sorted(ends[end]), rel=DETAIL)
        assert all(x == pytest.approx(total, rel=1e-6) for x in trace["x"][::3])
    hover = live.drawn("tornado")[0]["hover"][0]
    assert "Maker &amp; Co, 'GPU with HBM3', table 2" in hover
    assert "judgement" in hover or "read in the source text" in hover


def test_without_a_pick_it_is_the_cheapest_within_the_budget(live, points):
    rows = at_start(points)
    usable = rows[rows["rel_error_high"] <= 0.1]
    best = usable.loc[usable["device_energy_j"].idxmin(), "method"]
    assert best in live.sentence("tornado")
    live.menu("budget", "0.01")
    usable = rows[rows["rel_error_high"] <= 0.01]
    best = usable.loc[usable["device_energy_j"].idxmin(), "method"]
    assert f"energy of {best} depends" in live.sentence("tornado")


@pytest.mark.parametrize("machine", [m for m in MACHINES if m.multiplies], ids=lambda m: m.name)
def test_points_of_the_roofline_lie_on_the_roof_that_holds_them_up(live, points, tables, machine):
    live.only("accelerator", machine.name)
    markers = [t for t in live.drawn("roofline") if t["mode"] == "markers"]
    drawn = {row: (x, y, t["name"]) for t in markers
             for row, x, y in zip(t["rows"], t["x"], t["y"], strict=True)}
    rows = points.loc[live.rows()]
    assert set(drawn) == set(rows.index[rows["fits"] == 1])
    work = tables.operations.groupby(["point", "accelerator"])["count"].sum()
    for row, (x, y, name) in drawn.items():
        raw = tables.points[(tables.points["method"] == rows["method"][row])
                            & (tables.points["dataset"] == "tiny t2")]
        operations = work[raw["point"].iloc[0], machine.name]
        assert x == pytest.approx(operations / rows["moved_bytes"][row], rel=DETAIL)
        assert y == pytest.approx(operations / rows["time_s"][row], rel=DETAIL)
        roof = x * machine.bandwidth if name.endswith("memory") else machine.rate
        assert y == pytest.approx(roof, rel=DETAIL)
        assert name == f"held up by {rows['bound'][row]}"
