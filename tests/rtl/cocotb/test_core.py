# SPDX-License-Identifier: Apache-2.0
"""The configuration small of any contract, as flat Verilog in a four-state simulator: registers against their
SystemRDL, one QUANT against the golden model, GEMMs of one chunk and of two against exact sums, refused jobs. The
memory pauses at random. GEMMs and refused jobs on the netlist of tiny, too (tests/synth)."""

import itertools
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import cocotb
from cocotb.triggers import ClockCycles
from systemrdl import RDLCompiler
from systemrdl.node import RegNode

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "e2e"))
import stand  # noqa: E402
from ufp4_core import STATUS, Core, number  # noqa: E402

SEED = stand.stream(1)
A_CODES, A_SCALES, B_CODES, B_SCALES, D, SOURCE = 0x10000, 0x14000, 0x18000, 0x1C000, 0x20000, 0x30000


def pauses(seed):
    generator = random.Random(seed)
    return (generator.random() < 0.4 for _ in itertools.count())


def with_pauses(dut):
    core = Core(dut)
    for i, interface in enumerate(
        (
            core.memory.write_if.aw_channel,
            core.memory.write_if.w_channel,
            core.memory.write_if.b_channel,
            core.memory.read_if.ar_channel,
            core.memory.read_if.r_channel,
        )
    ):
        interface.set_pause_generator(pauses(SEED + i))
    return core


async def started(dut):
    core = with_pauses(dut)
    await core.start()
    return core


def check_known(dut):
    """No output may be unknown once reset is over."""
    for name in ("irq", "s_axil_bvalid", "s_axil_rvalid", "m_axi_arvalid", "m_axi_awvalid", "m_axi_wvalid"):
        assert getattr(dut, name).value.is_resolvable, f"{name} is {getattr(dut, name).value}"


def panels(codes, scales):
    """Panel-major bytes of [rows][blocks][16] codes and [rows][blocks] scales: units of 16 rows by a block."""
    groups, blocks = -(-len(codes) // 16), len(codes[0])
    code_bytes, scale_bytes = bytearray(128 * groups * blocks), bytearray(16 * groups * blocks)
    for r, b in itertools.product(range(len(codes)), range(blocks)):
        unit = r // 16 * blocks + b
        packed = bytes(low | high << 4 for low, high in zip(codes[r][b][::2], codes[r][b][1::2]))
        code_bytes[128 * unit + 8 * (r % 16) : 128 * unit + 8 * (r % 16) + 8] = packed
        scale_bytes[16 * unit + r % 16] = scales[r][b]
    return bytes(code_bytes), bytes(scale_bytes)


def random_operand(generator, rows, blocks, scales):
    codes = [[[generator.randrange(16) for _ in range(16)] for _ in range(blocks)] for _ in range(rows)]
    return codes, [[generator.choice(scales) for _ in range(blocks)] for _ in range(rows)]


async def contract_of(core):
    return await core.read("config_array") >> 24 & 3


def decoded(elem, codes, scales):
    return [
        [stand.element(elem, c) * stand.e4m3(s) for block, s in zip(row, row_scales) for c in block]
        for row, row_scales in zip(codes, scales)
    ]


def parameters():
    """Returns the parameters of the configuration after which the file is named."""
    text = (pathlib.Path(__file__).parents[3] / "rtl/gen/configurations.cmake").read_text()
    line = re.search(rf"^set\(UFP4_CONFIGURATION_{os.environ['UFP4_CONFIGURATION']} (.*)\)$", text, re.M)[1]
    return {key: int(value) for key, value in re.findall(r"-G(\w+)=(\d+)", line)}


@cocotb.test()
async def registers_say_what_it_is(dut):
    core = await started(dut)
    assert await core.read("id") == 0x55465034
    array, wanted = await core.read("config_array"), parameters()
    assert [array & 255, array >> 8 & 255, array >> 16 & 255] == [wanted[p] for p in ("Rows", "Cols", "Lanes")], hex(
        array
    )
    assert await core.read("ring_head") == 0
    check_known(dut)


@cocotb.test()
async def in_reset_every_ready_is_high_and_no_valid(dut):
    """Follows the page on interfaces for a host that is not in reset when the core is."""
    core = with_pauses(dut)
    await core.reset()
    dut.rst_n.value = 0
    await ClockCycles(dut.clk, 2)
    for name in ("s_axil_awready", "s_axil_wready", "s_axil_arready", "m_axi_rready", "m_axi_bready"):
        assert getattr(dut, name).value == 1, f"{name} is {getattr(dut, name).value} in reset"
    for name in ("s_axil_bvalid", "s_axil_rvalid", "m_axi_arvalid", "m_axi_awvalid", "m_axi_wvalid"):
        assert getattr(dut, name).value == 0, f"{name} is {getattr(dut, name).value} in reset"


def described():
    """The registers as the SystemRDL describes them."""
    compiler = RDLCompiler()
    compiler.compile_file(str(pathlib.Path(__file__).parents[3] / "rtl/gen/ufp4.rdl"))
    return [r for r in compiler.elaborate().top.descendants(unroll=True) if isinstance(r, RegNode)]


def mask_of(register, wanted):
    return sum((1 << f.width) - 1 << f.low for f in register.fields() if wanted(f))


@cocotb.test()
async def registers_are_as_their_systemrdl_says(dut):
    """Checks values after reset; then that each register stores writes in its writable bits and no others. Without
    --full in two patterns, in which neighbours differ."""
    core = with_pauses(dut)
    await core.reset()
    holds = {}
    for r in described():
        value = await core.registers.read_dword(r.absolute_address)
        known = mask_of(r, lambda f: not f.is_sw_readable or f.get_property("reset") is not None)
        start = sum(f.get_property("reset") << f.low for f in r.fields() if f.is_sw_readable and known >> f.low & 1)
        assert value & (known | ~mask_of(r, lambda f: True)) == start, (
            f"{r.get_path()} after reset: {value:#x}, not {start:#x}"
        )
        holds[r.absolute_address] = value
    for r in described():
        if any(f.get_property("donttest") for f in r.fields()):
            continue
        kept = mask_of(r, lambda f: f.is_sw_writable and f.is_sw_readable and f.get_property("onwrite") is None)
        patterns = [0x55555555, 0xAAAAAAAA]
        if stand.DRAWS_ALL:
            patterns += [0xFFFFFFFF, 0] + ([1 << i for i in range(32)] if kept else [])
        for pattern in patterns:
            await core.registers.write_dword(r.absolute_address, pattern)
            want = holds[r.absolute_address] & ~kept | pattern & kept
            value = await core.registers.read_dword(r.absolute_address)
            assert value == want, f"{r.get_path()} after a write of {pattern:#x}: {value:#x}, not {want:#x}"
            holds[r.absolute_address] = want
    for r in described():
        value = await core.registers.read_dword(r.absolute_address)
        assert value == holds[r.absolute_address], f"{r.get_path()} has changed: {value:#x}"
    check_known(dut)


async def check_gemm(dut, m, n, blocks):
    core, generator = await started(dut), random.Random(SEED)
    contract = await contract_of(core)
    other = "e1m2" if await core.read("config_array") >> 26 & 3 else "e2m1"  # of B, where PEs are for all formats
    # Contracts that round each block add halves, ones and twos of so few products without doing so.
    scales = (0x30, 0x38, 0x40) if contract else range(0x30, 0x50)
    a, b = random_operand(generator, m, blocks, scales), random_operand(generator, n, blocks, scales)
    for address, data in zip((A_CODES, A_SCALES, B_CODES, B_SCALES), (*panels(*a), *panels(*b))):
        core.memory.write(address, data)
    stride = 128
    done = await core.run(
        "gemm",
        contract=contract,
        m=m,
        n=n,
        k=16 * blocks,
        a_elem=number("elem", "e1m2"),
        b_elem=number("elem", other),
        a_codes_addr=A_CODES,
        a_scales_addr=A_SCALES,
        b_codes_addr=B_CODES,
        b_scales_addr=B_SCALES,
        a_stride_blocks=blocks,
        b_stride_blocks=blocks,
        a_exponent=3,
        b_exponent=-1,
        d_addr=D,
        d_stride_bytes=stride,
    )
    assert STATUS[done["status"]] == "ok", done
    # Sums of so few products of 4-bit numbers and E4M3 scales are exact in float64.
    want = stand.product(decoded("e1m2", *a), decoded(other, *b))
    for r, c in itertools.product(range(m), range(n)):
        (got,) = struct.unpack("<I", core.memory.read(D + stride * r + 4 * c, 4))
        bits = stand.f32_bits(stand.to_f32(math.ldexp(want[r][c], -(3 - 1))))
        assert got == bits, f"D[{r}][{c}]: got {got:#010x}, want {bits:#010x} (seed {SEED})"
    check_known(dut)


@cocotb.test(skip=not stand.DRAWS_ALL)  # without --full the one of two chunks alone
async def gemm_is_exact(dut):
    await check_gemm(dut, 19, 5, 8)


@cocotb.test()
async def gemm_of_two_chunks_is_exact(dut):
    await check_gemm(dut, 3, 2, 24)


@cocotb.test()
async def quant_equals_the_golden_model(dut):
    core = await started(dut)
    rows, cols = 16, 48
    data = stand.gaussian(rows, cols)
    core.memory.write(SOURCE, b"".join(struct.pack(f"<{cols}f", *row).ljust(256, b"\xff") for row in data))
    done = await core.run(
        "quant",
        rows=rows,
        cols=cols,
        src_addr=SOURCE,
        src_stride_bytes=256,
        elem=number("elem", "e1m2"),
        round=number("round", "sr"),
        scale_round=number("scale_round", "up"),
        row_mode=3,
        rht_mask=0xD7E8,
        row_exponent=5,
        row_codes_addr=A_CODES,
        row_scales_addr=A_SCALES,
        row_stride_blocks=8,
        seed=7,
        row_tensor_id=0x40,
    )
    assert STATUS[done["status"]] == "ok", done
    with tempfile.TemporaryDirectory() as folder:
        source, out = f"{folder}/x.npy", f"{folder}/q.safetensors"
        stand.write_npy(source, data)
        subprocess.run(
            [
                os.environ["UFP4_PROGRAM"],
                "quantize",
                source,
                "-o",
                out,
                "--elem",
                "e1m2",
                "--rht",
                "on",
                "--round",
                "sr",
                "--scale-round",
                "up",
                "--seed",
                "7",
                "--tensor-id",
                "64",
                "--tensor-exponent",
                "5",
            ],
            check=True,
            timeout=600,
        )
        _, tensors = stand.read_safetensors(out)
    codes, scales = tensors["codes"][2], tensors["scales"][2]
    for r, b in itertools.product(range(rows), range(cols // 16)):
        got = core.memory.read(A_CODES + 128 * b + 8 * r, 8)
        block = codes[r * cols + 16 * b :][:16]
        want = bytes(low | high << 4 for low, high in zip(block[::2], block[1::2]))
        assert got == want, f"codes of row {r}, block {b}: got {got.hex()}, want {want.hex()}"
        assert core.memory.read(A_SCALES + 16 * b + r, 1)[0] == scales[r * (cols // 16) + b], (
            f"scale of row {r}, block {b}"
        )
    check_known(dut)


@cocotb.test()
async def wrong_jobs_are_refused_and_the_next_is_right(dut):
    core = await started(dut)
    contract = await contract_of(core)
    for values, status in (
        ({"m": 0, "n": 1, "k": 16}, "bad_size"),
        ({"m": 1, "n": 1, "k": 16, "d_addr": 4}, "misaligned"),
    ):
        done = await core.run(
            "gemm", contract=contract, **values, d_stride_bytes=128, a_stride_blocks=8, b_stride_blocks=8
        )
        assert STATUS[done["status"]] == status, done
    core.memory.write(A_CODES, bytes([0x44] * 1024))  # 1.0
    core.memory.write(A_SCALES, bytes([0x38] * 128))  # 1.0
    done = await core.run(
        "gemm",
        contract=contract,
        m=1,
        n=1,
        k=16,
        a_elem=number("elem", "e1m2"),
        b_elem=number("elem", "e1m2"),
        a_codes_addr=A_CODES,
        a_scales_addr=A_SCALES,
        b_codes_addr=A_CODES,
        b_scales_addr=A_SCALES,
        a_stride_blocks=8,
        b_stride_blocks=8,
        d_addr=D,
        d_stride_bytes=128,
    )
    assert STATUS[done["status"]] == "ok", done
    (got,) = struct.unpack("<f", core.memory.read(D, 4))
    assert got == 16.0, got
