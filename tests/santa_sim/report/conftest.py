import pytest
from made_up_study import DATA, Data, make_tables
from visit import Visit

from santa_sim.report.build import write_report
from santa_sim.report.page_data import page_points
from santa_sim.report.view import View


@pytest.fixture(scope="session")
def tables():
    return make_tables(data=(*DATA, Data("synthetic llama", "llama lognormal", 8192, 0.5, 4)))


@pytest.fixture(scope="session")
def points(tables):
    return page_points(View(tables))


@pytest.fixture(scope="session")
def shared(chromium, tables, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(tables, path)
    visit = Visit(chromium, path)
    visit.path = path
    yield visit
    visit.close()


@pytest.fixture
def live(shared):
    shared.reset()
    yield shared
    assert shared.complaints == []
