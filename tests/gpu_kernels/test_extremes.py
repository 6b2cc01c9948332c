import pytest

from gpu_kernels.launches.extremes import extremes
from hw_models.catalogue import load_accelerator
from hw_models.gpu.datasheet import datasheet

SHEET = datasheet(load_accelerator("rtx_6000_ada"))


def test_each_constant_goes_to_the_end_that_lowers_or_raises_the_figure():
    clock, limit = SHEET.parameters["clock"], SHEET.parameters["read_bandwidth"]
    found = extremes(SHEET, lambda v: v["clock"] / v["read_bandwidth"])
    assert found == pytest.approx((clock.value / limit.value, clock.low / limit.high,
                                   clock.high / limit.low), rel=1e-15)


def test_a_figure_that_no_constant_moves_has_no_range():
    assert extremes(SHEET, lambda _: 7.0) == (7.0, 7.0, 7.0)
