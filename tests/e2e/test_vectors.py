# SPDX-License-Identifier: Apache-2.0
"""Tests the text of vectors; tests/rtl/vectors runs units of the RTL against it."""

import fractions
import pathlib
import re

import stand
from stand import check, check_equal, element, passes, rejects, slow

RTL = pathlib.Path(__file__).resolve().parents[2] / "rtl"
ELEMS = ["e2m1", "e1m2", "int4"]


def units():
    return [line.split()[0] for line in passes("vectors", "--list").out.splitlines()]


def records(unit, *options):
    """Returns (names, widths, rows of integers)."""
    lines = passes("vectors", unit, *options).out.splitlines()
    for line in lines[:3]:
        check(line.startswith("// "), f"header: {line}")
    names, widths = lines[1].split()[1:], [int(w) for w in lines[2].split()[1:]]
    check_equal(len(names), len(widths), f"{unit}: columns")
    rows = [line.split(" ") for line in lines[3:]]
    for row in rows:
        check_equal([len(word) for word in row], [(w + 3) // 4 for w in widths], f"{unit}: digits of {row}")
        check(all(int(word, 16) >> width == 0 for word, width in zip(row, widths)), f"{unit}: {row} is too wide")
    check(f" {len(rows)} records" in lines[0], f"{unit}: {lines[0]} has {len(rows)}")
    return names, widths, [[int(word, 16) for word in row] for row in rows]


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


@slow
def test_every_unit_has_its_columns_and_counts():
    check(len(units()) >= 11, str(units()))
    for unit in units():
        _, _, table = records(unit, "--count", 0)
        _, _, more = records(unit, "--count", 7)
        check(table and more[: len(table)] == table, f"{unit}: the boundary cases come first")
        check(len(more) - len(table) in (0, 7), f"{unit}: {len(more)} and {len(table)} records")


def test_names_are_those_of_the_rtl():
    modules = {p.stem for p in RTL.rglob("*.sv")}
    absent = [unit for unit in units() if f"ufp4_{unit}" not in modules]
    check_equal(absent, ["cast"], "units without a module")


@slow
def test_help_tells_every_column():
    text = passes("vectors", "--help").out
    for unit in units():
        part = text.split(f"\n  {unit}: ")[1].split("\n\n")[0]
        names, widths, _ = records(unit, "--count", 0)
        told = re.findall(r"^    (\S+) +(\d+)  \S", part, flags=re.M)
        check_equal(told, [(n, str(w)) for n, w in zip(names, widths)], f"{unit}: columns in --help")


@slow
def test_seed_decides_the_random_records():
    for unit in ("dot", "rht", "quant_block"):
        check_equal(records(unit, "--seed", 5), records(unit, "--seed", 5), "the same seed")
        check(records(unit, "--seed", 5) != records(unit, "--seed", 6), "another seed")


def test_output_file_and_bare():
    text = passes("vectors", "dot", "--count", 3).out
    check_equal(passes("vectors", "dot", "--count", 3, "-o", "dot.txt").out, "", "stdout")
    check_equal(pathlib.Path("dot.txt").read_text(), text, "the file")
    check_equal(passes("vectors", "dot", "--count", 3, "--bare").out, text.split("\n", 3)[3], "without a header")


def test_products_from_the_definition():
    """Computes the columns of dot and pe in floats, which are exact here."""
    _, _, rows = records("pe", "--count", 500)
    for a_elem, b_elem, a, b, a_scale, b_scale, before, dot, term, after in rows:
        products = [
            element(ELEMS[a_elem], a >> 4 * i & 15) * element(ELEMS[b_elem], b >> 4 * i & 15) for i in range(16)
        ]
        frac = stand.FRACTION[ELEMS[a_elem]] + stand.FRACTION[ELEMS[b_elem]]
        check_equal(signed(dot, 13), sum(products) * 2**frac, "dot")
        want = sum(products) * stand.e4m3(a_scale) * stand.e4m3(b_scale) * 2 ** (18 + frac)
        check_equal(signed(term, 48), want, "term")
        check_equal(signed(after, 64), signed(before, 64) + signed(term, 48), "sum")


def exact_f32(bits):
    """Returns the value of an FP32 pattern, or None for NaN and Inf."""
    magnitude = bits & 0x7FFFFFFF
    if magnitude >= 0x7F800000:
        return None
    exponent = max(magnitude >> 23, 1)
    significand = magnitude & 0x7FFFFF | (0x800000 if magnitude >> 23 else 0)
    return fractions.Fraction(-significand if bits >> 31 else significand) * fractions.Fraction(2) ** (exponent - 150)


def round_f32(value):
    """Rounds to nearest, ties to even, with gradual underflow. A zero is +0, also if a result underflows to it."""
    sign, value = (0x80000000, -value) if value < 0 else (0, value)
    if value == 0:
        return 0
    # The denominator is a power of two, so value lies in [2^(exponent - 1), 2^exponent).
    exponent = max(value.numerator.bit_length() - value.denominator.bit_length() + 1, -125)
    quotient = value / fractions.Fraction(2) ** (exponent - 24)
    bits = (exponent + 125 << 23) + round(quotient)  # the hidden bit adds one to the exponent field
    return sign | min(bits, 0x7F800000) if bits else 0


def test_steps_of_fp32_from_the_definition():
    """Computes pe_fp32 in exact fractions, each rounded once."""
    _, _, rows = records("pe_fp32", "--count", 1500)
    finite = 0
    for scale, a_elem, b_elem, a, b, a_scale, b_scale, before, after in rows:
        acc = exact_f32(before)
        if acc is None:
            check_equal(after, before, "an infinite accumulator")
            continue
        dot = sum(
            element(ELEMS[a_elem], a >> 4 * i & 15) * element(ELEMS[b_elem], b >> 4 * i & 15)
            for i in range(32 if scale else 16)
        )
        value = [
            fractions.Fraction(2) ** (byte - 127) if scale else fractions.Fraction(stand.e4m3(byte))
            for byte in (a_scale, b_scale)
        ]
        total = acc + fractions.Fraction(dot) * value[0] * value[1]
        finite += 1
        check_equal(f"{after:08x}", f"{round_f32(total):08x}", f"{acc} + {dot} x {value}")
    check(finite > 2000, f"{finite} finite accumulators")


def exponent_of(value):
    """Returns floor(log2 value) of a positive fraction whose denominator is a power of two."""
    return value.numerator.bit_length() - value.denominator.bit_length()


def toward_zero(value, exponent):
    """Returns value truncated to a multiple of 2^exponent."""
    step = fractions.Fraction(2) ** exponent
    return int(value / step) * step


@slow
def test_steps_of_nv_from_the_definition():
    """Computes pe_nv in exact fractions: aligned to the largest exponent, truncated, added, truncated to FP32."""
    _, _, rows = records("pe_nv", "--count", 1000)
    finite = 0
    for scale, groups, a_elem, b_elem, a, b, a_scales, b_scales, before, after in rows:
        acc = exact_f32(before)
        if acc is None:
            check_equal(after, before, "an infinite accumulator")
            continue
        terms, exponents = [acc], [max(exponent_of(abs(acc)), -126) if acc else -126]
        for g in range(groups):
            dot = sum(
                element(ELEMS[a_elem], a >> 64 * g + 4 * i & 15) * element(ELEMS[b_elem], b >> 64 * g + 4 * i & 15)
                for i in range(16)
            )
            value, exponent = [], 0
            for byte in (a_scales >> 8 * g & 255, b_scales >> 8 * g & 255):
                value.append(fractions.Fraction(2) ** (byte - 127) if scale else fractions.Fraction(stand.e4m3(byte)))
                exponent += byte - 127 if scale else max(exponent_of(value[-1]), -6) if value[-1] else -126
            terms.append(fractions.Fraction(dot) * value[0] * value[1])
            exponents.append(exponent)
        total = sum(toward_zero(term, max(exponents) - 35) for term in terms)
        want = toward_zero(total, max(exponent_of(abs(total)), -126) - 23) if total else total
        bits = round_f32(want)
        if abs(total) >= 2**128:
            bits = 0x7F800000 | (total < 0) << 31
        finite += 1
        check_equal(f"{after:08x}", f"{bits:08x}", f"{acc} and {terms[1:]}")
    check(finite > 3000, f"{finite} finite accumulators")


def test_rejects_what_it_does_not_know():
    rejects(2, "--list lists all units; leave out 'dot'", "vectors", "dot", "--list")
    rejects(2, "a unit is needed", "vectors")
    rejects(2, "no unit is called 'ufp4_dot'", "vectors", "ufp4_dot")
    rejects(2, "too many inputs", "vectors", "dot", "rht")
    rejects(2, "--count", "vectors", "dot", "--count", "-1")
    rejects(2, "cannot", "vectors", "dot", "-o", "no/such/folder.txt")


if __name__ == "__main__":
    stand.main(globals())
