# SPDX-License-Identifier: Apache-2.0
"""Tests fpga/cells/wires.py: how it reads qrouter's files. test_ppa_wires.py ROOT [TEST]"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "fpga/cells"))
import toolbox  # noqa: E402
import wires  # noqa: E402


def test_a_net_is_its_tree():
    """The net has a driver, 2 ohm to a fork with a pin, and from there 3 ohm to a port and 4 + 5 ohm to two pins of a
    gate."""
    line = "u.x[3] 1 XOR_1/Y 4 ( 2 0.5 INV_2/A , ( 3 0.25 PIN/y.o[1] ) , ( 4 0.125 ( 5 1 NAND_3/A , NAND_3/B ) ) ) "
    text = wires.spef("unit", [line], {"y_o"})
    assert "*D_NET u_x_3_ 1.87500000\n" in text, text
    assert text.split("*CONN\n")[1].split("*CAP")[0].splitlines() == [
        "*I XOR_1:Y O",
        "*I INV_2:A I",
        "*P y_o[1] O",
        "*I NAND_3:A I",
        "*I NAND_3:B I",
    ], text
    caps = text.split("*CAP\n")[1].split("*RES")[0].splitlines()
    assert caps == [f"{i} u_x_3_:{i} {pf:.8f}" for i, pf in enumerate((0.5, 0.25, 0.125, 1), 1)], caps
    found = sorted(line.split(maxsplit=1)[1] for line in text.split("*RES\n")[1].split("*END")[0].splitlines())
    n, short = "u_x_3_", 0.001
    want = [
        ("XOR_1:Y", f"{n}:1", 2),
        (f"{n}:1", "INV_2:A", short),
        (f"{n}:1", f"{n}:2", 3),
        (f"{n}:2", "y_o[1]", short),
        (f"{n}:1", f"{n}:3", 4),
        (f"{n}:3", f"{n}:4", 5),
        (f"{n}:4", "NAND_3:A", short),
        (f"{n}:4", "NAND_3:B", short),
    ]
    assert found == sorted(f"{a} {b} {ohm:.6f}" for a, b, ohm in want), found
    assert "*P a[1] I\n" in wires.spef("unit", ["a[1] 1 PIN/a[1] 1 ( 1 1 INV_1/A )"], {"a"}), "a port that drives"


def test_a_pin_that_is_lost_is_the_port():
    lost = "y.o[1] 1 BUFX2_1/Y 1 ( 2 0.5 ERROR )"
    assert wires.spef("unit", [lost], {"y_o"}) == wires.spef("unit", [lost.replace("ERROR", "PIN/y.o[1]")], {"y_o"}), (
        wires.spef("unit", [lost], {"y_o"})
    )
    for line, ports in (
        (lost, {"z"}),
        ("y 1 BUFX2_1/Y 2 ( 2 0.5 ERROR , ( 1 1 ERROR ) )", {"y"}),
        ("y 1 BUFX2_1/Y 2 ( 2 0.5 PIN/y , ( 1 1 ERROR ) )", {"y"}),
        ("y 1 ERROR 1 ( 2 0.5 PIN/y )", {"y"}),
    ):
        try:
            wires.spef("unit", [line], ports)
        except toolbox.Failed as error:
            assert "lost a pin of the net y" in str(error), error
        else:
            raise AssertionError(f"{line} is taken")


def test_rejects_half_a_net():
    try:
        wires.spef("unit", ["x 1 XOR_1/Y 1 ( 2 0.5 ( 1 1 INV_2/A )"], set())
    except toolbox.Failed as error:
        assert "in the middle" in str(error), error
    else:
        raise AssertionError("half a net is taken")


def test_rejects_a_layout_with_open_nets():
    for log, words in (
        ("Progress: Failed net routes: 9\nFinal: Failed net routes: 2\n", "left 2 nets open"),
        ("killed", "left some nets open"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "log").mkdir()
            (pathlib.Path(folder) / "log/route.log").write_text(log)
            try:
                wires.delays("unit", pathlib.Path(folder), None)
            except toolbox.Failed as error:
                assert words in str(error), error
            else:
                raise AssertionError("a layout with open nets is taken")


def test_lengths_of_routes():
    routes = (
        "+ ROUTED metal1 ( 100 200 ) ( 150 * ) ( * 170 ) M2_M1 \n  NEW metal2 ( 0 0 ) ( * 1000 ) ;\n- x\n"
        "  ( PIN x ) ( A B )\n+ ROUTED metal1 ( 5 5 ) M2_M1 ;\n"
    )
    assert abs(wires.wire_mm(routes) - (50 + 30 + 1000) * 1e-5) < 1e-12, wires.wire_mm(routes)


def test_rejects_other_units():
    done = subprocess.run([sys.executable, "-B", ROOT / "fpga/cells/wires.py", "dots"], capture_output=True, text=True)
    assert done.returncode == 2 and "'dots'" in done.stderr, done


if __name__ == "__main__":
    for name in sys.argv[2:] or [name for name in dir() if name.startswith("test_")]:
        globals()[name]()
