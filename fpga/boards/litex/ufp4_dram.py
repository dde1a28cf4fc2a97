# SPDX-License-Identifier: Apache-2.0
"""Generates LiteDRAM as a Verilog block for a board: a controller with its PHY, and a VexRiscv that trains the DRAM.

usage: ufp4_dram.py FOLDER FIRMWARE.bin [--sim]      run by fpga/boards/litex/dram.sh
Writes FOLDER/ufp4_dram.v, the files of its ROM and VexRiscv beside it, and headers for the firmware to
FOLDER/include/generated. Each command of the port moves 128 bits in the clock domain user_clk; the first command must
wait for init_done. With --sim a model replaces PHY and DRAM. The DRAM is 128 MB of DDR3 on an ECP5 (OrangeCrab
r0.2)."""

import os
import pathlib
import shutil
import struct
import sys

from litedram import modules
from litedram.gen import LiteDRAMCoreControl, LiteDRAMECP5DDRPHYCRG
from litedram.init import get_sdram_phy_c_header
from litedram.phy import ECP5DDRPHY
from litedram.phy.model import SDRAMPHYModel
from litex.build.generic_platform import Pins, Subsignal
from litex.build.lattice import LatticeECP5Platform
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from litex.soc.integration import export
from litex.soc.integration.soc_core import SoCCore
from migen import ClockDomain, Instance, Module, ResetSignal
from migen.fhdl.specials import Tristate
from migen.genlib.cdc import MultiReg
from migen.genlib.resetsync import AsyncResetSynchronizer

CLOCK = 48_000_000
WIDTH, ADDRESS = 128, 23


def pins(name, **widths):
    return (name, 0, *(Subsignal(signal, Pins(width)) for signal, width in widths.items()))


PORT = [
    *((name, 0, Pins(1)) for name in ("clk", "rst", "pll_locked", "user_clk", "init_done", "init_error")),
    pins("cmd", valid=1, ready=1, we=1, addr=ADDRESS),
    pins("wdata", valid=1, ready=1, we=WIDTH // 8, data=WIDTH),
    pins("rdata", valid=1, ready=1, data=WIDTH),
]
DDRAM = pins(
    "ddram", a=13, ba=3, ras_n=1, cas_n=1, we_n=1, cs_n=1, dm=2, dq=16, dqs_p=2, clk_p=1, cke=1, odt=1, reset_n=1
)


class InOut(Module):
    """Replaces LiteX's tristate (2024.12, with PyPI's migen), which declares the pin as an input of the module."""

    def __init__(self, tristate):
        self.specials += Instance(
            "TRELLIS_IO", p_DIR="BIDIR", io_B=tristate.target, i_I=tristate.o, i_T=~tristate.oe, o_O=tristate.i
        )

    lower = classmethod(lambda cls, tristate: cls(tristate))


class SimClock(LiteXModule):
    def __init__(self, platform):
        self.cd_sys = ClockDomain()
        self.comb += [self.cd_sys.clk.eq(platform.request("clk")), platform.request("pll_locked").eq(1)]
        self.specials += AsyncResetSynchronizer(self.cd_sys, platform.request("rst"))


class Dram(SoCCore):
    def __init__(self, platform, rom, sim):
        self.crg = (
            SimClock(platform)
            if sim
            else LiteDRAMECP5DDRPHYCRG(
                platform,
                {"memtype": "DDR3", "input_clk_freq": CLOCK, "sys_clk_freq": CLOCK, "init_clk_freq": CLOCK // 2},
            )
        )
        SoCCore.__init__(
            self,
            platform,
            CLOCK,
            cpu_type="vexriscv",
            cpu_variant="minimal",
            with_uart=False,
            with_timer=False,
            ident="",
            integrated_rom_size=0x1000,
            integrated_rom_init=rom,
            integrated_sram_size=0x400,
        )
        self.irq.add("none", use_loc_if_exists=True)  # LiteX requires one
        module = modules.MT41K64M16(CLOCK, "1:2")
        self.ddrphy = (
            SDRAMPHYModel(module=module, data_width=16, clk_freq=CLOCK)
            if sim
            else ECP5DDRPHY(platform.request("ddram"), sys_clk_freq=CLOCK, dm_remapping={0: 1, 1: 0}, cmd_delay=100)
        )
        if not sim:
            self.ddrphy.settings.rtt_nom = "disabled"
            self.comb += [self.crg.stop.eq(self.ddrphy.init.stop), self.crg.reset.eq(self.ddrphy.init.reset)]
        self.add_sdram("sdram", phy=self.ddrphy, module=module, l2_cache_size=0)
        self.ddrctrl = LiteDRAMCoreControl()

        self.cd_user = ClockDomain()
        self.comb += self.cd_user.clk.eq(platform.request("user_clk"))
        self.specials += [
            AsyncResetSynchronizer(self.cd_user, ResetSignal("sys")),
            MultiReg(self.ddrctrl.init_done.storage, platform.request("init_done"), "user"),
            MultiReg(self.ddrctrl.init_error.storage, platform.request("init_error"), "user"),
        ]
        port = self.sdram.crossbar.get_port(clock_domain="user")
        assert (port.data_width, port.address_width) == (WIDTH, ADDRESS), (port.data_width, port.address_width)
        for name, outward in (("cmd", 0), ("wdata", 0), ("rdata", 1)):
            mine, theirs = getattr(port, name), platform.request(name)
            for signal, width in ((s, w) for s, w, *_ in theirs.layout):
                to, from_ = getattr(theirs, signal), getattr(mine, signal)
                self.comb += to.eq(from_) if (signal == "ready") != bool(outward) else from_.eq(to)


def main(folder, firmware, *options):
    sim = "--sim" in options
    image = pathlib.Path(firmware).read_bytes()
    image += bytes(-len(image) % 4)
    os.makedirs(f"{folder}/include/generated", exist_ok=True)
    os.chdir(folder)
    platform = (
        SimPlatform("SIM", PORT)
        if sim
        else LatticeECP5Platform("LFE5U-25F-8MG285C", PORT + [DDRAM], toolchain="trellis")
    )
    soc = Dram(platform, list(struct.unpack(f"<{len(image) // 4}I", image)), sim)
    soc.finalize()
    platform.get_verilog(soc, name="ufp4_dram", special_overrides={} if sim else {Tristate: InOut}).write("ufp4_dram.v")
    for path, *_ in platform.sources:
        shutil.copy(path, ".")
    settings = soc.sdram.controller.settings
    for name, text in (
        ("csr", export.get_csr_header(soc.csr_regions, soc.constants)),
        ("soc", export.get_soc_header(soc.constants)),
        ("mem", export.get_mem_header(soc.mem_regions)),
        ("sdram_phy", get_sdram_phy_c_header(settings.phy, settings.timing, settings.geom)),
    ):
        pathlib.Path(f"include/generated/{name}.h").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
