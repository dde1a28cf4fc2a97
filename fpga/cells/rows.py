# SPDX-License-Identifier: Apache-2.0
"""The rows that ppa measures: units of the RTL with their parameters."""

import dataclasses
import pathlib
import re

CONFIGURATIONS = pathlib.Path(__file__).resolve().parents[2] / "rtl/gen/configurations.cmake"


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    module: str
    parameters: dict
    of: int = 1  # the module contains this many units
    formats: str = ""  # formats that it multiplies, for the default table
    default: bool = False
    memories: bool = False  # the memories are modules in memories.v, outside of the netlist
    defines: tuple = ()
    core: bool = False  # a whole core, whose delay is reported by rooms


def configuration(name):
    """Returns the parameters of a named configuration in the form for cells, or None if the name is unknown."""
    known = re.search(rf"^set\(UFP4_CONFIGURATION_{re.escape(name)} (.*)\)$", CONFIGURATIONS.read_text(), re.M)
    return known and {key: int(value) for key, value in re.findall(r"-G(\w+)=(\d+)", known[1])}


FORMATS = {
    "": ("all formats", {}),
    "_e2m1": ("E2M1", {"Formats": 1}),
    "_uniform": ("E1M2 and INT4", {"Formats": 2}),
    "_e1m2": ("E1M2", {"Formats": 3}),
}


def _by_format(name, module, of=1, default=False, **parameters):
    return [
        Row(name + ending, module, parameters | formats, of, words, default)
        for ending, (words, formats) in FORMATS.items()
    ]


ROWS = [
    *_by_format("dot", "ufp4_dot", default=True),
    Row("dot_fpga", "ufp4_dot_relative", {}),
    Row("dot_simulator", "ufp4_dot_planes", {}),
    *_by_format("pe", "ufp4_pe", default=True, Parity=0),
    Row("pe_parity", "ufp4_pe", {"Parity": 1}),
    Row("pe_parity_in_word", "ufp4_pe", {"Parity": 1}, defines=("UFP4_PARITY_IN_WORD",)),
    # One of 4 x 4 PEs that share operand registers; _in_array includes the PE's share of the rest of the array
    # (pe_shared.sv).
    *_by_format("pe_shared", "pe_shared", 16),
    Row("pe_shared_parity", "pe_shared", {"Parity": 1}, 16),
    Row("pe_in_array", "pe_shared", {"Control": 1}, 16),
    Row("pe_in_array_parity", "pe_shared", {"Control": 1, "Parity": 1}, 16),
    Row("pe_fpga", "ufp4_pe", {"Parity": 0, "Target": 1}),
    Row("pe_fp32", "ufp4_pe_fp32", {"Parity": 0}),
    Row("pe_fp32_parity", "ufp4_pe_fp32", {"Parity": 1}),
    Row("pe_fp32_parity_in_word", "ufp4_pe_fp32", {"Parity": 1}, defines=("UFP4_PARITY_IN_WORD",)),
    Row("pe_nv", "ufp4_pe_nv", {"Parity": 0}),
    Row("lane", "ufp4_lane", {"Parity": 0}),
    # The logic for parity beside a memory of 256 x 64.
    *(
        Row("sram_parity" + ending, "ufp4_sram_checked", {"Width": 64, "Depth": 256, "InWord": form})
        for form, ending in enumerate(("", "_in_word"))
    ),
    Row("quant_block", "ufp4_quant_block", {}),
    Row("quant_block_mixed", "ufp4_quant_block", {"Mixed": 1}),
    Row("quant_serial_block", "ufp4_quant_serial_block", {}),
    Row("quant_serial_block_mixed", "ufp4_quant_serial_block", {"Mixed": 1}),
    Row("rht", "ufp4_rht", {}),
    Row("divide_round", "ufp4_divide_round", {}),
    Row("threefry", "ufp4_threefry", {}),
    # Whole cores, all of the size `small`.
    *(
        Row(name, "ufp4_top", configuration(shape) | other, core=True)
        for name, shape, other in (
            ("core", "small", {}),
            ("core_fp32", "small-fp32", {}),
            ("core_nv", "small-nv", {}),
            ("core_no_quant", "small", {"Quant": 0}),
        )
    ),
]
# The cases in which the energy of a dot product or PE is measured: the GEMM of gemm.json and the load, with elements of
# the row's format. Rows for all formats have more cases.
LOADS = ("full", "half", "none")
CASES = [("fprop", "full"), ("wgrad", "full"), ("fprop", "half"), ("fprop", "none")]
ELEMENTS = {"all formats": "e1m2", "E2M1": "e2m1", "E1M2 and INT4": "e1m2", "E1M2": "e1m2"}
MORE = [
    *((data, elem, "full") for elem in ("e2m1", "mixed") for data in ("fprop", "wgrad")),
    ("zero", "e1m2", "full"),
    ("random", "e2m1", "full"),
]
# The cases of the rows with recorded runs (runs.json), and of the contracts fp32 and nv.
OWN = {
    "lane": [*(("fprop", "e1m2", load) for load in LOADS), *(("fprop", elem, "full") for elem in ("e2m1", "mixed"))],
    "quant_block": [
        *(("dy", "e1m2", load) for load in LOADS),
        *((data, "e1m2", "full") for data in ("dy/rht=none", "dy/sr=none", "dy/amax")),
        ("dy", "e2m1", "full"),
    ],
    "quant_serial_block": [("dy", elem, "full") for elem in ("e1m2", "e2m1")],
    **{
        f"quant_{form}_mixed": [("dy", elem, "full") for elem in ("mixed", "e2m1", "e1m2")]
        for form in ("block", "serial_block")
    },
    **{
        f"pe_{contract}": [
            *((data, elem, "full") for elem in ("e1m2", "e2m1") for data in ("fprop", "wgrad")),
            ("fprop", "e1m2", "none"),
        ]
        for contract in ("fp32", "nv")
    },
}


def cases(row):
    """Returns [(data, elements, load)] of a row's energies, which is empty if it has none."""
    if row.name in OWN:
        return OWN[row.name]
    if row.formats == "" or row.parameters.get("Parity", 0):
        return []
    if row.module == "pe_shared":
        return [
            ("fprop", elem, "full")
            for elem in sorted({ELEMENTS[row.formats], *["e2m1", "mixed"] * (row.formats == "all formats")})
        ]
    own = [(data, ELEMENTS[row.formats], load) for data, load in CASES]
    return own + (MORE if row.formats == "all formats" else [])


BY_NAME = {row.name: row for row in ROWS}
