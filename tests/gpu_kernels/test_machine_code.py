import pytest

from gpu_kernels.machine_code import loop_instructions


def code(*lines):
    """Machine code as cuobjdump prints it, 16 bytes an instruction, each with its encoding."""
    return "\n".join(
        f"        /*{16 * index:04x}*/                   {line} ;   /* 0x000fc800000001ff */\n"
        "                                             /* 0x000fe20000000f00 */"
        for index, line in enumerate(line.replace("SELF", hex(16 * index)) for index, line in
                                     enumerate(lines)))


BODY = ["FFMA R1, R1, 0.5, R2", "FFMA R3, R3, 0.5, R2", "IADD3 R0, R0, -0x1, RZ",
        "ISETP.NE.AND P0, PT, R0, RZ, PT"]
END = ["EXIT", "BRA SELF", "NOP"]


def test_instructions_from_the_target_of_a_branch_back_to_the_branch_are_counted():
    sass = code("MOV R1, c[0x0][0x28]", *BODY, "@P0 BRA 0x10", *END)
    assert loop_instructions(sass) == 5


def test_an_unrolled_loop_counts_per_turn():
    # three turns at once, then what is left one by one
    unrolled = [*BODY[:2] * 3, *BODY[2:], "@P0 BRA 0x0"]
    rest = [*BODY, f"@!P1 BRA {hex(16 * len(unrolled))}"]
    assert loop_instructions(code(*unrolled, *rest, *END)) == len(unrolled) / 3


def test_loops_of_different_work_are_not_taken_for_one_unrolled():
    other = ["MUFU.EX2 R9, R9", "@P0 BRA 0x60"]
    assert loop_instructions(code("NOP", *BODY, "@P0 BRA 0x10", *other, *END)) == 5


@pytest.mark.parametrize("sass", ["", code("MOV R1, R2", *END)])
def test_no_loop_is_none(sass):
    assert loop_instructions(sass) is None
