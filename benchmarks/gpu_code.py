"""The number of instructions of the fused kernels per row and rule, from their machine code.

No GPU is needed, because Triton contains the compiler and the disassembler.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from neuralrules._engine._triton._backward import backward
from neuralrules._engine._triton._forward import forward
from neuralrules._engine._triton._steps import LARGE_BATCH, Tuning, bits_of_codes

HOPPER = GPUTarget("cuda", 90, 32)
NUMBERS = ("step", "n_rows", "n_columns", "batch_size", "capacity", "n_rules", "n_tiles")
# The types of the kernels' arguments, except for sizes and arrays of float32.
KINDS = {
    **dict.fromkeys((*NUMBERS, "rules_each", "tiles_each"), "i32"),
    "l2": "fp32",
    "places": "*i64",
    "numbers": "*i32",
    "arrivals": "*i32",
    "smallest": "*u8",
    "frozen": "*i8",
    "outputs": "*fp64",
}
WHOLE_VECTORS = ("batch_size", "capacity")  # numbers that are multiples of 16


def compiled(kernel: Any, sizes: dict[str, int], n_warps: int = 4) -> Any:
    """Compile a kernel for a GPU. Sizes that are not parameters of this kernel are left out."""
    sizes = {name: size for name, size in sizes.items() if name in kernel.arg_names}
    kinds = {
        one.name: "constexpr" if one.name in sizes else KINDS.get(one.name, "*fp32")
        for one in kernel.params
    }
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, (name, kind) in enumerate(kinds.items())
        if kind.startswith("*") or name in WHOLE_VECTORS
    }
    source = ASTSource(kernel, kinds, sizes, aligned)
    return triton.compile(source, target=HOPPER, options={"num_warps": n_warps})


def machine_code(made: Any) -> list[tuple[int, str]]:
    """Addresses and instructions of a compiled kernel."""
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(made.asm["cubin"])
        file.flush()
        command = [tool, "--dump-sass", file.name]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = re.findall(r"/\*([0-9a-f]{4,})\*/\s+(.*?);", text)
    return [(int(address, 16), instruction) for address, instruction in lines]


def longest_loop(code: list[tuple[int, str]]) -> int:
    """The number of instructions in the longest loop: the loop over rules or over tiles."""
    lengths = [0]
    for place, (address, instruction) in enumerate(code):
        back = re.search(r"BRA[^0]*0x([0-9a-f]+)", instruction)
        if back and int(back[1], 16) < address:
            lengths.append(sum(int(back[1], 16) <= one for one, _ in code[: place + 1]))
    return max(lengths)


def instructions(n_literals: int, n_columns: int) -> dict[str, float]:
    """Instructions per row and rule, in both halves of a step, for large batches.

    The rules have one output.
    """
    tuning, bits = Tuning.for_batches(LARGE_BATCH), bits_of_codes(n_literals)
    sizes = {
        "LITERALS": n_literals,
        "COLUMNS": n_columns,
        "OUTPUTS": 1,
        "LOSS": 1,
        "PARAMETER": 0.0,
        "BITS": bits,
        "ROWS": tuning.rows,
        "RULES": tuning.rules,
        "PADDED": triton.next_power_of_2(n_literals * (n_columns + 1) + 2),
    }
    tile = tuning.rows * 8 // bits
    found = {}
    for name, kernel, n_rules, n_warps in (
        ("forward", forward, tuning.rules, tuning.forward_warps),
        ("backward", backward, 1, tuning.backward_warps),
    ):
        each = longest_loop(machine_code(compiled(kernel, sizes, n_warps)))
        found[name] = each / (tile * n_rules / (32 * n_warps))
    return found
