import hashlib
import os

import pytest

from santa_sim.study.result_log import ResultLog, sound_keys


def key(name):
    return hashlib.sha256(name.encode()).hexdigest()


@pytest.fixture
def path(tmp_path):
    with ResultLog(tmp_path / "points.log") as log:
        log.append([(key("a"), {"x": 0.1 + 0.2}), (key("b"), [1, None])])
        log.append([(key("c"), {"long": "x" * 1000})])
    return tmp_path / "points.log"


def test_what_was_added_is_there_again(path):
    with ResultLog(path) as log:
        assert len(log) == 3
        assert log.get(key("a")) == {"x": 0.30000000000000004}
        assert log.get(key("b")) == [1, None]
        assert key("d") not in log
        assert log.get(key("d")) is None
        assert log.damage == ()
    assert sound_keys(path.read_bytes()) == {key("a"), key("b"), key("c")}


@pytest.mark.parametrize("cut", [1, 2, 80, 81, 82, 500, 1000])
def test_a_row_that_is_cut_off_is_said_and_taken_away(path, cut):
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with ResultLog(path) as log:
        assert len(log) == 2
        assert len(log.damage) == 1
        assert "the last row is cut off" in log.damage[0]
        log.append([(key("c"), {"long": "x" * 1000})])
    assert path.read_bytes() == whole
    with ResultLog(path) as log:
        assert log.damage == ()


def test_any_changed_byte_is_noticed_and_costs_its_row_alone(path):
    whole = path.read_bytes()
    first_row = whole.index(b"\n")
    for at in range(first_row):
        for other in (whole[at] ^ 1, 0, 255):
            path.write_bytes(whole[:at] + bytes([other]) + whole[at + 1:])
            with ResultLog(path) as log:
                lost = {key("a"), key("b")} if other == 10 else {key("a")}
                assert {key("b"), key("c")} - lost <= {k for k in map(key, "abc") if k in log}
                if path.read_bytes() != whole:
                    assert key("a") not in log
                    assert "row 1 is damaged" in log.damage[0]


def test_a_full_disk_takes_nothing_of_the_row(path, monkeypatch):
    real = os.write

    def write(handle, data):
        if len(data) > 10:
            return real(handle, data[:10])  # a part goes through, then the disk is full
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    with ResultLog(path) as log:
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(OSError, match="No space left"):
            log.append([(key("d"), {"y": 1})])
        monkeypatch.undo()
        assert path.read_bytes() == before
        log.append([(key("d"), {"y": 1})])
    with ResultLog(path) as log:
        assert log.get(key("d")) == {"y": 1}


def test_what_other_studies_left_can_be_dropped(path):
    with ResultLog(path) as log:
        log.keep_only({key("b")})
        log.append([(key("e"), 5)])
    assert sound_keys(path.read_bytes()) == {key("b"), key("e")}


def test_a_link_is_not_followed(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="symbolic link"):
        ResultLog(tmp_path / "link")
