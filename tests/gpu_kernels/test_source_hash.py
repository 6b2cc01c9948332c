import csv
import shutil

import pytest

from gpu_kernels.compiled_counts import sources
from gpu_kernels.compiled_counts.table import table_path
from gpu_kernels.split_plan import OFFLINE_LIMITS

TABLES = [capability for capability in OFFLINE_LIMITS if table_path(capability).exists()]
FLASH = "s2anta_flash.kernel.flash_kernel"


def rows(capability):
    with table_path(capability).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("capability", TABLES)
def test_the_table_was_counted_from_the_kernels_as_they_are(capability):
    stale = {row["kernel"] for row in rows(capability)
             if row["sources"] != sources.source_hash(row["kernel"])}
    major, minor = capability
    assert not stale, (
        f"{table_path(capability).name} was counted before these kernels, or the counting, changed:"
        f" {', '.join(sorted(stale))}. With Triton {rows(capability)[0]['triton']}, run"
        f" python -m gpu_kernels.compiled_counts benchmarks/*.yaml --capability {major}.{minor}")


@pytest.fixture
def hash_after(monkeypatch, tmp_path):
    """Return the hash of a kernel after a text of a file of a copy of the package is replaced."""
    def of(kernel, file, old, new):
        copy = tmp_path / "gpu_kernels"
        shutil.copytree(sources.PACKAGE, copy, ignore=shutil.ignore_patterns("*.csv", "__pyc*"))
        text = (copy / file).read_text(encoding="utf-8")
        assert old in text
        (copy / file).write_text(text.replace(old, new, 1), encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(sources, "PACKAGE", copy)
            forget()
            found = sources.source_hash(kernel)
        forget()
        return found

    def forget():
        sources.source_hash.cache_clear()
        sources._module.cache_clear()

    yield of
    forget()


@pytest.mark.parametrize(("file", "old", "new"), [
    ("s2anta_flash/kernel.py", "tl.program_id(0)", "tl.program_id(1)"),
    # a function of another module, and a constant behind a constant
    ("random_offsets.py", "word >> 8", "word >> 9"),
    ("split_plan.py", "\nSPAN = ", "\nSPAN = 2 * "),
    ("compiled_counts/sass.py", '("MUFU", ', '("MUFU", "POPC", '),
])
def test_what_a_kernel_or_its_count_is_made_from_changes_its_hash(hash_after, file, old, new):
    assert hash_after(FLASH, file, old, new) != sources.source_hash(FLASH)


@pytest.mark.parametrize(("file", "old", "new"), [
    ("random_offsets.py", "Return the first uniform", "Return a first uniform"),
    ("random_offsets.py", "    zero = ", "    # a word of zeros\n    zero = "),
    ("random_offsets.py", "MAX_STEP = 2**20", "MAX_STEP = 2**19"),
    ("dense/kernel.py", "tl.program_id(0)", "tl.program_id(1)"),
])
def test_words_and_what_it_does_not_use_leave_the_hash(hash_after, file, old, new):
    assert hash_after(FLASH, file, old, new) == sources.source_hash(FLASH)


@pytest.mark.parametrize("kernel", ["s2anta_flash.kernel.no_kernel", "nowhere.kernel"])
def test_a_kernel_that_is_not_there_is_no_hash(kernel):
    with pytest.raises(LookupError):
        sources.source_hash(kernel)
