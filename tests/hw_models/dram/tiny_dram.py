"""Small memories and traces for the tests of the DRAM core."""

import numpy as np
from hypothesis import strategies as st

from hw_models.dram import DramSpec, load_dram, make_requests

ENERGY = load_dram("hbm3_6400").energy.model_dump()


def tiny(ranks=1, groups=2, per_group=2, scope="per_bank", postponed=2, timing=(), **refresh):
    """A memory with one channel, 16 rows of 4 bursts per bank, and short primes as timings."""
    widths = {
        "offset": 5, "column": 2, "bank_group": groups.bit_length() - 1,
        "bank": per_group.bit_length() - 1, "rank": ranks.bit_length() - 1, "row": 4,
    }
    mapping, at = {}, 0
    for field, width in widths.items():
        mapping[field] = ((at, at + width - 1),) if width else ()
        at += width
    cycles = {
        "tCK_ps": 1000, "tBL": 2, "tCL": 7, "tCWL": 5, "tRCD_RD": 11, "tRCD_WR": 9, "tRP": 10,
        "tRAS": 19, "tRC": 29, "tRRD_S": 3, "tRRD_L": 4, "tFAW": 17, "tCCD_S": 2, "tCCD_L": 4,
        "tRTP": 6, "tWR": 8, "tWTR_S": 3, "tWTR_L": 5, "tRTW": 6, "tRTRS": 2,
        "source": "test", "confidence": "judgement", **dict(timing),
    }
    return DramSpec.model_validate({
        "name": "tiny", "source": "test",
        "organisation": {
            "channels": 1, "ranks": ranks, "bank_groups": groups, "banks_per_group": per_group,
            "rows": 16, "row_bytes": 128, "burst_bytes": 32,
        },
        "mapping": mapping,
        "timing": cycles,
        "refresh": {"scope": scope, "tREFI": 300, "tRFC": 31, "max_postponed": postponed,
                    "source": "test", "confidence": "judgement", **refresh},
        "energy": ENERGY,
    })


def address(spec, bank=0, row=0, column=0):
    """The address of a burst in a tiny memory; banks count over groups and ranks."""
    shape = spec.organisation
    group, inner = divmod(bank % shape.banks, shape.banks_per_group)
    place = row
    for size, value in (
        (shape.ranks, bank // shape.banks), (shape.banks_per_group, inner),
        (shape.bank_groups, group), (shape.columns, column),
    ):
        place = place * size + value
    return place * shape.burst_bytes


@st.composite
def memories(draw):
    """Tiny memories over organisations, refresh scopes, buses and timings."""
    timing = {name: draw(st.integers(1, 12)) for name in ("tRTP", "tRTW", "tWTR_S", "tRRD_S")}
    timing["tWTR_L"] = timing["tWTR_S"] + draw(st.integers(0, 4))
    timing["tRRD_L"] = timing["tRRD_S"] + draw(st.integers(0, 4))
    timing["tFAW"] = draw(st.integers(4, 60))
    timing["command_buses"] = draw(st.integers(1, 2))
    timing["t32AW"] = draw(st.sampled_from([None, 400]))
    return tiny(
        ranks=draw(st.sampled_from([1, 2])), groups=draw(st.sampled_from([1, 2])),
        per_group=draw(st.sampled_from([1, 2, 4])),
        scope=draw(st.sampled_from(["all_bank", "same_bank", "per_bank"])),
        postponed=draw(st.integers(0, 3)), timing=timing, tREFI=600, tRFC=draw(st.integers(5, 60)),
    )


def traces(spec, most=40):
    """Random requests: bursts of arrivals, gaps, writes, and a taste for a few rows."""
    shape = spec.organisation
    one = st.tuples(
        st.integers(0, shape.ranks * shape.banks - 1), st.integers(0, 2),
        st.integers(0, shape.columns - 1), st.booleans(),
        st.sampled_from([0, 0, 0, 1, 2, 7, 40]),
    )

    def built(rows):
        at = [address(spec, bank, row, column) for bank, row, column, _, _ in rows]
        gaps = np.cumsum([gap for *_, gap in rows])
        return make_requests(at, gaps, [write for *_, write, _ in rows])

    return st.lists(one, min_size=1, max_size=most).map(built)
