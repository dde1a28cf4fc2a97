# SPDX-License-Identifier: Apache-2.0
"""Adds the core to a LiteX SoC (docs/howto/litex.md), with its registers on the SoC's bus, its memory behind a LiteDRAM
port, and an interrupt.

from ufp4_litex import add_ufp4
add_ufp4(soc, configuration="tiny-quant")     after soc.add_sdram(.., l2_cache_size=0)
"""

import pathlib
import re

from litedram.frontend.axi import LiteDRAMAXI2Native
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi
from migen import ClockSignal, Instance, ResetSignal, Signal

ROOT = pathlib.Path(__file__).resolve().parents[3]


def parameters(configuration):
    """Returns the parameters of ufp4_top for a named configuration."""
    line = re.search(
        rf"^set\(UFP4_CONFIGURATION_{re.escape(configuration)} (.*)\)$",
        (ROOT / "rtl/gen/configurations.cmake").read_text(),
        re.M,
    )
    if line is None:
        raise ValueError(f"no configuration is called '{configuration}'")
    return {name: int(value) for name, value in re.findall(r"-G(\w+)=(\d+)", line[1])}


def sources():
    """Returns the RTL's files, packages first."""
    lines = (line.strip() for line in (ROOT / "rtl/rtl.f").read_text().splitlines())
    core = [ROOT / "rtl" / line for line in lines if line and not line.startswith("//")]
    return [*core, ROOT / "fpga/package/ufp4_axi.v"]


class Interrupt:
    def __init__(self):
        self.irq = Signal()


class Ufp4(LiteXModule):
    """port: a LiteDRAM port as wide as the core's bus; base_address: the SoC's address of its first byte."""

    def __init__(self, platform, port, base_address, configuration="tiny", target=1):
        core = parameters(configuration)
        if 8 * core["BusBytes"] != port.data_width:
            raise ValueError(
                f"the bus of {configuration} has {8 * core['BusBytes']} bits, the LiteDRAM port {port.data_width}: "
                "they must be the same"
            )
        self.bus = bus = axi.AXILiteInterface(data_width=32, address_width=32)
        self.memory = memory = axi.AXIInterface(data_width=port.data_width, address_width=32, id_width=2)
        self.ev = Interrupt()  # SoC.irq.add uses it; irq_status and irq_mask are the core's own
        self.to_native = LiteDRAMAXI2Native(memory, port, base_address=base_address)
        pins = {}
        for prefix, interface, ours in (("s_axil", bus, "i"), ("m_axi", memory, "o")):
            theirs = "o" if ours == "i" else "i"
            for channel in ("aw", "w", "ar", "b", "r"):
                stream = getattr(interface, channel)
                forward = ours if channel in ("aw", "w", "ar") else theirs
                for name, signal in self.fields(stream, prefix, channel):
                    pins[f"{forward}_{prefix}_{channel}{name}"] = signal
                pins[f"{forward}_{prefix}_{channel}valid"] = stream.valid
                pins[f"{'o' if forward == 'i' else 'i'}_{prefix}_{channel}ready"] = stream.ready
        self.specials += Instance(
            "ufp4_axi",
            **{f"p_{name}": value for name, value in (core | {"Target": target}).items()},
            **pins,
            i_clk=ClockSignal("sys"),
            i_rst_n=~ResetSignal("sys"),
            o_irq=self.ev.irq,
        )
        for path in sources():
            platform.add_source(str(path))

    @staticmethod
    def fields(stream, prefix, channel):
        wanted = {"aw": ("addr",), "ar": ("addr",), "w": ("data", "strb"), "b": ("resp",), "r": ("data", "resp")}[
            channel
        ]
        if prefix == "m_axi":
            wanted += {
                "aw": ("id", "len", "size", "burst"),
                "ar": ("id", "len", "size", "burst"),
                "w": ("last",),
                "b": ("id",),
                "r": ("id", "last"),
            }[channel]
        for name in wanted:
            yield name, getattr(stream, name)


def add_ufp4(soc, configuration="tiny", origin=0xB0000000, name="ufp4"):
    """Adds the core with 4 KiB of registers at origin, which must be uncached, and its interrupt."""
    if hasattr(soc, "l2_cache"):
        raise ValueError(
            "this SoC has an L2 cache between its processor and LiteDRAM, which does not see what the core writes: "
            "add_sdram(.., l2_cache_size=0), and LiteX's own targets take --l2-size 0"
        )
    core = Ufp4(soc.platform, soc.sdram.crossbar.get_port(), soc.bus.regions["main_ram"].origin, configuration)
    setattr(soc, name, core)
    soc.bus.add_slave(name, core.bus, SoCRegion(origin=origin, size=0x1000, cached=False))
    soc.irq.add(name, use_loc_if_exists=True)
    return core
