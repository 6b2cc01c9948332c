"""The live explorer: which points it draws, what its server answers, and its page in a browser."""

import json
import threading
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pandas as pd
import pytest
from made_up_run import write_run
from made_up_study import DATA, MACHINES, make_tables
from page_oracle import front_of, sums
from unpack import unpacked
from visit import DRAWN

duckdb = pytest.importorskip("duckdb")

from santa_sim.dashboard.__main__ import main  # noqa: E402
from santa_sim.dashboard.server import Explorer, serve  # noqa: E402
from santa_sim.dashboard.store import FACETS, Store, View  # noqa: E402

EVIL = "'; DROP TABLE points; -- <script>\"📈"
EVERYTHING = dict.fromkeys(FACETS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("runs")
    write_run(make_tables(), base / "first")
    other = make_tables(data=DATA[:2])
    other.points["board_energy_j"] = 2 * other.points["board_energy_j"]
    other.points["method"] = other.points["method"].replace("santa_iid S=256", EVIL)
    write_run(other, base / "second")
    return [base / "first", base / "second"]


@pytest.fixture
def store(folders, tmp_path):
    return Store(folders, tmp_path / "points.duckdb")


@pytest.fixture
def points(folders):
    """Both runs as one table, in the order of ids."""
    frames = [pd.read_parquet(f / "results.parquet").assign(folder=f.name) for f in folders]
    frames = [f.sort_values(["point", "accelerator"]) for f in frames]
    found = pd.concat(frames, ignore_index=True)
    return found.assign(case=found.groupby(["folder", "dataset", "context"]).ngroup())


@pytest.fixture
def server(store):
    running = serve(Explorer(store), "127.0.0.1", 0)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_address[1]}/"
    running.shutdown()
    running.server_close()
    thread.join()


def get(url, **headers):
    with urlopen(Request(url, headers=headers)) as answer:  # noqa: S310
        return answer.read().decode()


def refused(url, **headers):
    """Return status and text of a request that must fail."""
    with pytest.raises(HTTPError) as error:
        get(url, **headers)
    with error.value as answer:
        return answer.code, answer.read().decode()


def rows_url(server, wanted=None, **more):
    view = {"wanted": {**EVERYTHING, **(wanted or {})}, "cost": "energy", "boundary": "device",
            "budget": 0.1, "baseline": "dense", "along": "context", "picked": [], **more}
    return f"{server}rows?view={quote(json.dumps(view))}"


@pytest.mark.parametrize(("facet", "column", "values"), [
    ("folder", "folder", ["second"]), ("attention", "dataset", ["tiny t0", "tiny t2"]),
    ("context", "context", ["8192"]), ("accelerator", "accelerator", ["gpu_hbm3"]),
    ("method", "method", ["dense", EVIL]), ("samples", "samples_requested", ["64", "none"]),
])
def test_a_filter_leaves_what_the_tables_say(store, points, facet, column, values):
    texts = points[column].map(lambda v: "none" if pd.isna(v) else str(v))
    texts = texts.str.removesuffix(".0")
    assert store.count({**EVERYTHING, facet: values}) == int(texts.isin(values).sum()) > 0


def test_all_of_a_front_is_drawn_whatever_is_left_out(store, points, monkeypatch):
    monkeypatch.setattr("santa_sim.dashboard.store.DRAWN", 150)
    monkeypatch.setattr("santa_sim.dashboard.store.LINES", 5)
    view = View({**EVERYTHING, "accelerator": ["gpu_hbm3"]}, "energy", "board", 0.1, "dense")
    drawn = store.points(store.drawn(view))
    own = points[points["accelerator"] == "gpu_hbm3"]
    costs = own.drop_duplicates(["case", "accelerator", "board_energy_j", "rel_error"])
    front = front_of(costs, "board_energy_j")
    assert {
        (r, m, d) for r, m, d in own.loc[list(front), ["folder", "method", "dataset"]].to_numpy()
    } <= {tuple(row) for row in drawn[["folder", "method", "dataset"]].to_numpy()}
    assert len(drawn) < len(points)


def test_an_answer_holds_the_rows_and_their_details(server, points):
    facts, tables = unpacked(get(rows_url(server, {"folder": ["second"], "method": ["dense"]})))
    own = points[(points["folder"] == "second") & (points["method"] == "dense")]
    assert facts["total"] == len(own)
    assert facts["all"] == len(points)
    found = pd.DataFrame(tables["points"])
    found = found[(found["folder"] == "second") & (found["method"] == "dense")]
    assert len(found) == len(own)
    merged = found.merge(own, left_on=["accelerator", "attention"],
                         right_on=["accelerator", "dataset"])
    assert merged["device_energy_j_x"].dropna().to_numpy() == pytest.approx(
        merged["device_energy_j_y"].dropna().to_numpy(), rel=2.0**-23)
    energy = pd.DataFrame(tables["energy"])
    energy = energy[energy["account"] == "device"].groupby("row")["nominal_j"].sum()
    for row, joules in energy.items():
        assert joules == pytest.approx(tables["points"]["device_energy_j"][row], rel=2.0**-15)


@pytest.mark.parametrize(("change", "said"), [
    ({"boundary": "x' OR 1=1"}, "unknown boundary"), ({"along": "id"}, "unknown boundary or axis"),
    ({"budget": "no"}, "must be a number"), ({"wanted": []}, "must name its filters"),
    ({"wanted": {"folder": "first"}}, "must be a list"), ({"picked": ["1"]}, "ids of points"),
])
def test_what_no_page_would_ask_is_refused(server, change, said):
    view = {"wanted": EVERYTHING, "boundary": "device", "budget": 0.1, "baseline": "dense",
            "along": "context", **change}
    code, text = refused(f"{server}rows?view={quote(json.dumps(view))}")
    assert code == 400
    assert said in text


def test_another_name_for_this_address_is_refused(server):
    assert refused(server, Host="example.org")[0] == 403


def test_a_run_that_is_written_again_is_read_again(server, folders, points):
    before = get(f"{server}version")
    path = folders[1] / "results.parquet"
    rows = pd.read_parquet(path)
    rows.iloc[:3].to_parquet(path, index=False)
    try:
        assert get(f"{server}version") != before
        facts, _ = unpacked(get(rows_url(server)))
        assert facts["all"] == len(points) - len(rows) + 3
    finally:
        rows.to_parquet(path, index=False)


def test_a_folder_without_a_run_is_one_line(tmp_path, capsys):
    assert main([str(tmp_path / "gone"), "--port", "0"]) == 2
    assert "gone/results.parquet: is not there" in capsys.readouterr().err


def test_the_page_shows_what_the_tables_say(chromium, server, points):
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints = []
    page.on("console", lambda m: complaints.append(m.text))
    page.on("pageerror", lambda e: complaints.append(str(e)))
    page.goto(server)
    page.wait_for_function("window.report")
    page.evaluate("report.drawn.then(() => 1)")

    def choose(**patch):
        page.evaluate("async (p) => { report.update(p); await report.drawn; }", patch)

    for run in ("first", "second"):
        choose(folder=[run], attention=["tiny t0"], context=None, accelerator=["gpu_hbm3"],
               boundary="board")
        own = points[(points["folder"] == run) & (points["dataset"] == "tiny t0")
                     & (points["accelerator"] == "gpu_hbm3")]
        assert f"{len(own)} points of {len(points)}" in page.locator("#count").inner_text()
        found = sums(page.evaluate(DRAWN, "time"))
        assert sorted(found.values()) == pytest.approx(sorted(own["time_s"]), rel=2.0**-22)
        markers = [t for t in page.evaluate(DRAWN, "pareto")
                   if t["mode"] == "markers" and not t["skip"]]
        drawn = sorted(x for t in markers for x in t["x"])
        assert drawn == pytest.approx(sorted(own["board_energy_j"]), rel=2.0**-22)
    # both together: the rows say which run they are of
    choose(folder=None, method=["dense"])
    labels = page.evaluate("report.panels.find((p) => p.place.dataset.figure === 'time')"
                           ".spec.layout.yaxis.ticktext").__str__()
    assert "first" in labels
    assert "second" in labels
    choose(method=[EVIL])
    assert EVIL in page.locator('[data-figure="points"] table').inner_text()
    assert complaints == []
    context.close()


def test_every_accelerator_is_in_the_filter(store):
    assert store.facets["accelerator"] == sorted(m.name for m in MACHINES)
