"""An accelerator whose numbers are round enough to check results by hand."""

from hw_models.accelerator import Accelerator
from hw_models.ledger import (
    Direction,
    Dtype,
    Level,
    OpKey,
    OpKind,
    Pattern,
    Phase,
    Segments,
    StreamKey,
    Tensor,
)
from hw_models.strict_yaml import parse, validate

TEXT = """\
name: tiny
title: Tiny
description: round numbers
node_nm: 7
memory:
  type: toy
  source: made up
  capacity_bytes: 1000000
  granularity_bytes: 32
  row_bytes: 1024
  peak_bandwidth: {value: 1.0e9, low: 0.5e9, high: 2.0e9, unit: B/s, source: s, confidence: judgement}
  streaming_efficiency: {value: 0.5, low: 0.25, high: 1.0, unit: "1", source: s, confidence: judgement}
  gather_efficiency: {value: 0.25, low: 0.125, high: 0.5, unit: "1", source: s, confidence: judgement}
  energy:
    device:
      boundary: dram_device
      read: {value: 2, low: 1, high: 4, unit: pJ/bit, source: s, confidence: judgement}
      write: {value: 3, low: 2, high: 5, unit: pJ/bit, source: s, confidence: judgement}
      activation: {value: 1000, low: 500, high: 2000, unit: pJ/activation, source: s, confidence: judgement}
    board:
      boundary: board_dynamic
      read: {value: 16, low: 8, high: 32, unit: pJ/bit, source: s, confidence: judgement}
      write: {value: 18, low: 9, high: 36, unit: pJ/bit, source: s, confidence: judgement}
buffer:
  type: toy
  source: made up
  capacity_bytes: 4096
  stages_main_reads: false
  energy:
    device:
      boundary: on_chip_sram
      read: {value: 0.5, low: 0.25, high: 1, unit: pJ/bit, source: s, confidence: judgement}
      write: {value: 0.75, low: 0.5, high: 1.5, unit: pJ/bit, source: s, confidence: judgement}
    board:
      boundary: board_dynamic
      read: {value: 5, low: 2, high: 10, unit: pJ/bit, source: s, confidence: judgement}
      write: {value: 6, low: 3, high: 12, unit: pJ/bit, source: s, confidence: judgement}
arithmetic:
  multiplicity: repeat_add
  random_product: multiply
  units:
    matrix:
      executes: {multiply: [bf16], add: [fp32]}
      only_multiply_add: true
      rate: {value: 1.0e9, low: 0.5e9, high: 2.0e9, unit: op/s, source: s, confidence: judgement}
      energy:
        board:
          table:
            boundary: board_dynamic
            ops:
              multiply: {bf16: {value: 0.6, low: 0.3, high: 1.2, unit: pJ/op, source: s, confidence: judgement}}
              add: {fp32: {value: 0.7, low: 0.35, high: 1.4, unit: pJ/op, source: s, confidence: judgement}}
    scalar:
      executes: {multiply: [fp32], add: [fp32], shift: [fp32], compare: [fp32]}
      rate: {value: 1.0e8, low: 0.5e8, high: 2.0e8, unit: op/s, source: s, confidence: judgement}
    special:
      executes: {exp: [fp32]}
      phases: [softmax]
      rate: {value: 1.0e7, low: 0.5e7, high: 2.0e7, unit: op/s, source: s, confidence: judgement}
    random:
      executes: {random_bits: [bit]}
      rate: {value: 1.0e9, low: 0.5e9, high: 2.0e9, unit: op/s, source: s, confidence: judgement}
  energy:
    device:
      table: &units
        boundary: functional_unit
        ops:
          multiply:
            bf16: {value: 0.2, low: 0.1, high: 0.4, unit: pJ/op, source: s, confidence: judgement}
            fp32: {value: 1.3, low: 0.7, high: 2.6, unit: pJ/op, source: s, confidence: judgement}
          add: {fp32: {value: 0.4, low: 0.2, high: 0.8, unit: pJ/op, source: s, confidence: judgement}}
          shift: {fp32: {value: 0.01, low: 0.005, high: 0.02, unit: pJ/op, source: s, confidence: judgement}}
          compare: {fp32: {value: 0.03, low: 0.015, high: 0.06, unit: pJ/op, source: s, confidence: judgement}}
          exp: {fp32: {value: 1, low: 0.5, high: 6, unit: pJ/op, source: s, confidence: judgement}}
          random_bits: {bit: {value: 0.05, low: 0.01, high: 0.25, unit: pJ/op, source: s, confidence: judgement}}
    board:
      table: *units
      overhead:
        boundary: board_dynamic
        factor: {value: 2, low: 1.5, high: 3, unit: "1", source: s, confidence: judgement}
static:
  board:
    boundary: board_static
    power: {value: 10, low: 5, high: 20, unit: W, source: s, confidence: judgement}
accounts:
  device: {composes: [functional_unit, on_chip_sram, dram_device], rule: parts alone}
  board: {composes: [board_dynamic, board_static], rule: whole board}
"""  # noqa: E501


def edited(*changes: tuple[str, str], text: str = TEXT) -> str:
    """Return the text with each (old, new) replaced; every old stands there exactly once."""
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands there {text.count(old)} times"
        text = text.replace(old, new)
    return text


def tiny(*changes: tuple[str, str]) -> Accelerator:
    """Return the tiny accelerator, its text edited, without the checks across its parts."""
    return validate(parse(edited(*changes), "tiny.yaml"), Accelerator)


def op(
    phase: Phase, kind: OpKind, dtype: Dtype = Dtype.FP32, multiplicity: int = 1
) -> OpKey:
    return OpKey(phase, kind, dtype, multiplicity)


def stream(
    tensor: Tensor,
    segment_bytes: int,
    *,
    phase: Phase = Phase.VALUE,
    level: Level = Level.MAIN,
    direction: Direction = Direction.READ,
    pattern: Pattern = Pattern.STREAM,
    footprint: int = 0,
) -> StreamKey:
    return StreamKey(phase, tensor, level, direction, pattern, segment_bytes, footprint)


def segments(count: int) -> Segments:
    return Segments(count, count)
