# SPDX-License-Identifier: Apache-2.0
"""usage: test_pins.py BOARDS PROPERTY: the boards' pin files against the ports of their tops."""

import pathlib
import re
import subprocess
import sys

BOARDS = pathlib.Path(sys.argv[1])
PORT = re.compile(r"^  (?:input|output|inout) +(?:logic|wire) +(?:\[(\d+):0\])? *(\w+)", re.M)


def pin_files():
    return sorted(BOARDS.glob("*/*.lpf"))


def ports(top):
    """Returns each bit of each port, named as in a pin file."""
    text = top.read_text()
    head = text[text.index(") (") : text.index(");")]
    for width, name in PORT.findall(head):
        yield from (f"{name}[{bit}]" for bit in range(int(width) + 1)) if width else [name]


def test_each_port_has_a_pin():
    for pins in pin_files():
        text = pins.read_text()
        want = sorted(ports(pins.with_suffix(".sv")))
        for word in ("LOCATE COMP", "IOBUF PORT"):
            got = sorted(re.findall(rf'{word} "([^"]+)"', text))
            assert got == want, f"{pins.name}: {word}: {set(got) ^ set(want) or 'one twice'}"


def test_no_pin_has_two_ports():
    for pins in pin_files():
        sites = re.findall(r'SITE "([^"]+)"', pins.read_text())
        assert sites and len(sites) == len(set(sites)), f"{pins.name}: a site twice"


def test_the_oscillator_has_a_frequency():
    for pins in pin_files():
        assert re.search(r"^FREQUENCY PORT", pins.read_text(), re.M), f"{pins.name}: no FREQUENCY"


def test_the_loader_knows_each_board():
    known = subprocess.run(
        ["openFPGALoader", "--list-boards"], capture_output=True, text=True, check=True, timeout=600
    ).stdout.split()
    for board in BOARDS.glob("*/board.sh"):
        name = re.search(r'^loader="--board (\w+)"$', board.read_text(), re.M)[1]
        assert name in known, f"{board}: {name}"


if __name__ == "__main__":
    assert pin_files(), "no pin files"
    globals()[sys.argv[2]]()
