# SPDX-License-Identifier: Apache-2.0
"""The core behind cocotbext-axi, a bus that knows nothing of this project: an AXI4-Lite master for its registers, a
memory for its AXI4 port. Registers, descriptors and completions come from cmodel/spec/ufp4.toml."""

import pathlib
import tomllib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

SPEC = tomllib.loads((pathlib.Path(__file__).parents[3] / "cmodel/spec/ufp4.toml").read_text())
REGISTERS = {r["name"]: r["offset"] for r in SPEC["register"]}
BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
STATUS = [s["name"] for s in SPEC["status"]]
RING, COMPLETIONS, RING_LOG2 = 0x1000, 0x2000, 2


def number(enum, name):
    """The number of a name in an enumeration of the specification."""
    if enum == "elem":
        return next(f["value"] for f in SPEC["format"] if f["name"] == name)
    return SPEC["enum"][enum]["values"].index(name)


def pack(fields, values, size):
    """Returns a descriptor's bytes; unnamed fields are zero."""
    out, known = bytearray(size), {name: (offset, kind) for offset, kind, name, _ in fields}
    for name, value in values.items():
        offset, kind = known[name]
        out[offset : offset + BYTES[kind]] = (value % (1 << 8 * BYTES[kind])).to_bytes(BYTES[kind], "little")
    return bytes(out)


def unpack(fields, data):
    return {name: int.from_bytes(data[offset : offset + BYTES[kind]], "little") for offset, kind, name, _ in fields}


class Core:
    """A core with 1 MiB of memory."""

    def __init__(self, dut):
        self.dut = dut
        self.tail = 0
        self.registers = AxiLiteMaster(
            AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst_n, reset_active_level=False
        )
        self.memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst_n, reset_active_level=False, size=2**20)

    async def reset(self):
        cocotb.start_soon(Clock(self.dut.clk, 2, unit="ns").start())
        self.dut.rst_n.value = 0
        await ClockCycles(self.dut.clk, 10)
        self.dut.rst_n.value = 1
        await ClockCycles(self.dut.clk, 2)

    async def start(self):
        """Resets the core and sets up its rings."""
        await self.reset()
        for name, value in (
            ("ring_base_lo", RING),
            ("ring_base_hi", 0),
            ("completion_base_lo", COMPLETIONS),
            ("completion_base_hi", 0),
            ("ring_log2", RING_LOG2),
            ("irq_mask", 3),
        ):
            await self.write(name, value)

    async def write(self, name, value):
        await self.registers.write_dword(REGISTERS[name], value)

    async def read(self, name):
        return await self.registers.read_dword(REGISTERS[name])

    async def run(self, kind, **values):
        """Runs a job, from its descriptor to the interrupt, and returns its completion. The values are fields of the
        kind's descriptor, by name."""
        opcode = values.pop("opcode", kind)
        values |= {"opcode": number("opcode", opcode), "flags": 1, "job": 0x1000 + self.tail}
        slot = self.tail % (1 << RING_LOG2)
        self.memory.write(RING + 128 * slot, pack(SPEC["descriptor"][kind]["fields"], values, 128))
        self.tail += 1
        await self.write("ring_tail", self.tail)
        await with_timeout(self.interrupt(), 20, "us")
        await self.write("irq_status", 3)
        assert await self.read("ring_head") == self.tail
        completion = unpack(SPEC["completion"]["fields"], self.memory.read(COMPLETIONS + 16 * slot, 16))
        assert completion["job"] == values["job"], completion
        return completion

    async def interrupt(self):
        while True:
            await ClockCycles(self.dut.clk, 1)
            if self.dut.irq.value == 1:
                return
