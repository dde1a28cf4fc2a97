# SPDX-License-Identifier: Apache-2.0
"""Makes the worked example of docs/ip, with every byte of one GEMM before and after. D comes from the formulas of
numerics.md in exact fractions; tests/rtl/core/test_example.c gives the page's bytes to the core and to the golden
model."""

import fractions
import struct

M, N, K, STRIDE_BLOCKS, D_STRIDE = 2, 3, 20, 8, 128
T_A, T_B, JOB = 3, -1, 0x1234
A_SCALES = [[0x38, 0x44], [0x05, 0xB8]]
B_SCALES = [[0x40, 0x7E], [0x30, 0x08], [0x38, 0x7F]]
RING, COMPLETIONS, A_CODES, A_SCALES_AT, B_CODES, B_SCALES_AT, D = (
    0x80000000 + offset for offset in (0, 0x1000, 0x2000, 0x2800, 0x3000, 0x3800, 0x4000)
)
RING_LOG2 = 2
NAN32 = 0x7FC00000


def code_a(row, k):
    return (5 * row + 3 * k + 1) % 16 if k < K else 0


def code_b(row, k):
    return (7 * row + 5 * k + 2) % 16 if k < K else 0


def e4m3(byte):
    """Returns the value of a scale byte without its sign, or None for NaN."""
    e, m = byte >> 3 & 15, byte & 7
    if (e, m) == (15, 7):
        return None
    return fractions.Fraction(m, 512) if e == 0 else fractions.Fraction(8 + m) * fractions.Fraction(2) ** (e - 10)


def quanta(spec, elem, code):
    f = spec["format"][elem]
    values = f["quanta"] + [-q for q in f["quanta"]] if len(f["quanta"]) == 8 else f["quanta"]
    return values[code]


def dot(spec, i, j, block):
    """Returns the dot product of the quanta of one block, which the core sums as an integer."""
    ks = range(16 * block, 16 * block + 16)
    return sum(quanta(spec, 0, code_a(i, k)) * quanta(spec, 1, code_b(j, k)) for k in ks)


def f32(value):
    """Returns the FP32 pattern nearest to a fraction that a double holds exactly."""
    if value is None:
        return NAN32
    assert fractions.Fraction(float(value)) == value
    return struct.unpack("<I", struct.pack("<f", float(value)))[0]


def element(spec, i, j):
    """Returns D[i][j] as a fraction, or None for NaN."""
    unit = fractions.Fraction(1, 2 ** (spec["format"][0]["frac"] + spec["format"][1]["frac"]))
    total = fractions.Fraction(0)
    for block in range(2):
        a, b = e4m3(A_SCALES[i][block]), e4m3(B_SCALES[j][block])
        if a is None or b is None:
            return None
        total += dot(spec, i, j, block) * unit * a * b
    return total * fractions.Fraction(2) ** -(T_A + T_B)


def codes_bytes(code, rows, block):
    """Returns a panel unit of codes, with row r in bytes 8r to 8r + 7 and even elements in the low nibbles."""
    out = bytearray()
    for r in range(16):
        nibbles = [code(r, 16 * block + k) if r < rows else 0 for k in range(16)]
        out += bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2]))
    return bytes(out)


def scales_bytes(scales, block):
    return bytes(row[block] for row in scales) + bytes(16 - len(scales))


def descriptor(spec):
    """Returns (field, offset, bytes, value) of each non-zero field of the descriptor."""
    of = lambda name, value: spec["enum"][name]["values"].index(value)
    values = {
        "opcode": of("opcode", "gemm"),
        "flags": 1,
        "job": JOB,
        "m": M,
        "n": N,
        "k": K,
        "a_elem": spec["format"][0]["value"],
        "b_elem": spec["format"][1]["value"],
        "d_dtype": of("dtype", "f32"),
        "contract": of("contract", "exact"),
        "scale": of("scale", "e4m3"),
        "a_exponent": T_A & 0xFFFF,
        "b_exponent": T_B & 0xFFFF,
        "a_codes_addr": A_CODES,
        "a_scales_addr": A_SCALES_AT,
        "b_codes_addr": B_CODES,
        "b_scales_addr": B_SCALES_AT,
        "d_addr": D,
        "a_stride_blocks": STRIDE_BLOCKS,
        "b_stride_blocks": STRIDE_BLOCKS,
        "d_stride_bytes": D_STRIDE,
    }
    size = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
    return [
        (name, offset, size[kind], values[name])
        for offset, kind, name, _ in spec["descriptor"]["gemm"]["fields"]
        if values.get(name)
    ]


def descriptor_bytes(spec):
    out = bytearray(spec["limit"]["descriptor_bytes"])
    for _, offset, size, value in descriptor(spec):
        out[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(out)


def dump(address, data):
    return [f"    {address + at:08x}: {data[at : at + 16].hex(' ')}" for at in range(0, len(data), 16)]


def registers(spec):
    """Returns (name, value) of the register writes, in order."""
    named = {r["name"]: r["offset"] for r in spec["register"]}
    writes = [
        ("ring_base_lo", RING),
        ("ring_base_hi", 0),
        ("completion_base_lo", COMPLETIONS),
        ("completion_base_hi", 0),
        ("ring_log2", RING_LOG2),
        ("irq_mask", 3),
        ("ring_tail", 1),
    ]
    return [(named[name], name, value) for name, value in writes]


def worked(spec):
    """Explains D[1][0], which has a subnormal scale and a scale whose sign is ignored."""
    dots = [dot(spec, 1, 0, block) for block in range(2)]
    a, b = [e4m3(s) for s in A_SCALES[1]], [e4m3(s) for s in B_SCALES[0]]
    value = element(spec, 1, 0)
    return [
        "D[1][0], step by step:",
        "",
        f"- Block 0: the dot product of the quanta is {dots[0]}, the scales are 0x{A_SCALES[1][0]:02X} = {float(a[0])} "
        f"(subnormal) and 0x{B_SCALES[0][0]:02X} = {float(b[0]):g}.",
        f"- Block 1: the dot product of its first four elements is {dots[1]}, "
        f"the scales are 0x{A_SCALES[1][1]:02X} = {float(a[1]):g} (its sign is "
        f"ignored) and 0x{B_SCALES[0][1]:02X} = {float(b[1]):g}.",
        f"- Quanta of E2M1 are halves and of E1M2 quarters, so S = ({dots[0]} x {float(a[0] * b[0])} + {dots[1]} x "
        f"{float(a[1] * b[1]):g}) / 8 = {float(value * 2 ** (T_A + T_B))}.",
        (
            f"- tA + tB = {T_A} + ({T_B}) = {T_A + T_B}, so D = S x 2^-{T_A + T_B} = {float(value)}, "
            f"which is 0x{f32(value):08X}."
        ),
        "",
    ]


def page(spec, note, table):
    out = [
        f"<!-- {note} -->",
        "# One job, byte by byte",
        "",
        (
            f"This GEMM multiplies A [{M}][{K}] of E2M1 by B [{N}][{K}] of E1M2 into D [{M}][{N}] of FP32, "
            "with E4M3 scales and the contract exact."
        ),
        (
            "The page has each byte that the host writes and each that the core writes; "
            "everything else in memory may hold anything."
        ),
        (
            "The tests `rtl.example` give these bytes to the core and to the golden model and compare D and the "
            "completion."
        ),
        (
            "The layout is in [architecture](architecture.md#operands-in-memory), "
            "each field in [registers](registers.md#descriptor-gemm)."
        ),
        "",
        "## Descriptor",
        "",
        "All bytes that are in no row are 0.",
        "",
    ]
    out += table(
        ["byte", "field", "value"], [[offset, name, f"0x{value:X}"] for name, offset, size, value in descriptor(spec)]
    )
    out += ["## Memory before the doorbell", "", "The descriptor, the first of its ring:", ""] + dump(
        RING, descriptor_bytes(spec)
    )
    for name, at, scales_at, code, scales in (
        ("A", A_CODES, A_SCALES_AT, code_a, A_SCALES),
        ("B", B_CODES, B_SCALES_AT, code_b, B_SCALES),
    ):
        rows = len(scales)
        out += [
            "",
            f"Codes of {name}, one unit of 128 bytes for each of the two blocks.",
            f"Rows {rows} to 15 of the group are 0, and so are elements {K} to 31 of rows 0 to {rows - 1}:",
            "",
        ]
        out += [line for block in range(2) for line in dump(at + 128 * block, codes_bytes(code, rows, block))]
        out += ["", f"Scales of {name}, one unit of 16 bytes for each block:", ""]
        out += [line for block in range(2) for line in dump(scales_at + 16 * block, scales_bytes(scales, block))]
    out += ["", "## Register writes", "", "The last one is the doorbell.", ""]
    out += table(
        ["offset", "register", "value"],
        [[f"0x{offset:03X}", name, f"0x{value:08X}"] for offset, name, value in registers(spec)],
    )
    out += [
        "Then `irq_o` rises, `irq_status` reads 1 and `ring_head` reads 1.",
        "",
        "## Memory after the job",
        "",
        "D:",
        "",
    ]
    for i in range(M):
        out += dump(D + D_STRIDE * i, b"".join(f32(element(spec, i, j)).to_bytes(4, "little") for j in range(N)))
    out += [
        "",
        "The completion without its last eight bytes, which count cycles: the job's number, status ok, no flag:",
        "",
    ]
    out += dump(COMPLETIONS, JOB.to_bytes(4, "little") + bytes(4))
    out += ["", "## Where D comes from", ""]
    out += table(
        ["D", *(f"column {j}" for j in range(N))],
        [
            [f"row {i}", *("NaN" if element(spec, i, j) is None else f"{float(element(spec, i, j))}" for j in range(N))]
            for i in range(M)
        ],
    )
    out += worked(spec) + [
        "Column 2 is NaN: the scale of row 2 of B in block 1 is 0x7F.",
        "A GEMM sets no flag for it.",
        "",
    ]
    return "\n".join(out)


def before(spec):
    """Returns (address, bytes) of the data that the host writes to memory."""
    out = [(RING, descriptor_bytes(spec))]
    for at, scales_at, code, scales in (
        (A_CODES, A_SCALES_AT, code_a, A_SCALES),
        (B_CODES, B_SCALES_AT, code_b, B_SCALES),
    ):
        for block in range(2):
            out.append((at + 128 * block, codes_bytes(code, len(scales), block)))
            out.append((scales_at + 16 * block, scales_bytes(scales, block)))
    return out


def after(spec):
    """Returns (address, bytes) of the data that the core writes, without the cycles in the completion."""
    rows = [b"".join(f32(element(spec, i, j)).to_bytes(4, "little") for j in range(N)) for i in range(M)]
    return [
        *((D + D_STRIDE * i, row) for i, row in enumerate(rows)),
        (COMPLETIONS, JOB.to_bytes(4, "little") + bytes(4)),
    ]


def sv_lines(name, parts):
    """Returns a constant of lines of up to 16 bytes: address, number of bytes, byte i in bits 8 i + 7 to 8 i."""
    lines = [(at + i, data[i : i + 16]) for at, data in parts for i in range(0, len(data), 16)]
    rows = [f"    '{{40'h{at:010x}, 5'd{len(data)}, 128'h{data[::-1].hex():0>32}}}" for at, data in lines]
    return [f"  localparam line_t {name}[{len(rows)}] = '{{", ",\n".join(rows), "  };"]


def sv_package(spec, note):
    writes = [f"    '{{12'h{offset:03x}, 32'h{value:08x}}}" for offset, _, value in registers(spec)]
    return "\n".join(
        [
            f"// {note}",
            "// SPDX-License-Identifier: Apache-2.0",
            "// The job of docs/ip/example.md for the example testbench.",
            "package ufp4_example_pkg;",
            "  // Bytes at an address, byte i of count in bits 8 i + 7 to 8 i.",
            "  typedef struct packed {",
            "    logic [39:0]  address;",
            "    logic [4:0]   count;",
            "    logic [127:0] bytes;",
            "  } line_t;",
            "  typedef struct packed {",
            "    logic [11:0] offset;",
            "    logic [31:0] value;",
            "  } write_t;",
            "",
            "  // The host writes BEFORE to memory, REGISTER to registers; memory has AFTER when the job is done.",
            *sv_lines("BEFORE", before(spec)),
            f"  localparam write_t REGISTER[{len(writes)}] = '{{",
            ",\n".join(writes),
            "  };",
            *sv_lines("AFTER", after(spec)),
            "endpackage",
            "",
        ]
    )
