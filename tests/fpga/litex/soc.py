# SPDX-License-Identifier: Apache-2.0
"""soc.py BUILD FIRMWARE.bin CONFIGURATION [L2_BYTES] makes a LiteX SoC for Verilator, with VexRiscv, an SDRAM model and
the core; its ROM contains the firmware. Writes BUILD/soc.v, the files that it reads in ROM, sources.txt with the other
files, and csr.json."""

import os
import pathlib
import struct
import sys

from litedram import modules
from litedram.phy.model import SDRAMPHYModel
from litex.build.generic_platform import Pins, Subsignal
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from litex.soc.integration.export import get_csr_json
from litex.soc.integration.soc_core import SoCCore
from migen import ClockDomain, Signal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "fpga/boards/litex"))
from ufp4_litex import add_ufp4  # noqa: E402

PINS = [
    ("sys_clk", 0, Pins(1)),
    (
        "serial",
        0,
        *(
            Subsignal(f"{side}_{name}", Pins(bits))
            for side in ("source", "sink")
            for name, bits in (("valid", 1), ("ready", 1), ("data", 8))
        ),
    ),
]
CLOCK = 100_000_000


class Clock(LiteXModule):
    """Like litex_sim's clock, it holds reset during the first cycle."""

    def __init__(self, clock):
        self.cd_sys = ClockDomain("sys")
        self.cd_por = ClockDomain("por", reset_less=True)
        out = Signal(reset=1)
        self.sync.por += out.eq(0)
        self.comb += [self.cd_sys.clk.eq(clock), self.cd_por.clk.eq(clock), self.cd_sys.rst.eq(out)]


class Soc(SoCCore):
    def __init__(self, rom, configuration, l2_bytes):
        platform = SimPlatform("SIM", PINS)
        self.crg = Clock(platform.request("sys_clk"))
        SoCCore.__init__(
            self,
            platform,
            CLOCK,
            cpu_type="vexriscv",
            cpu_variant="standard",
            uart_name="sim",
            ident="",
            integrated_rom_size=0x20000,
            integrated_rom_init=rom,
            integrated_sram_size=0x4000,
            with_timer=False,
        )
        module = modules.MT48LC16M16(CLOCK, "1:1")
        self.sdrphy = SDRAMPHYModel(module=module, data_width=64, clk_freq=CLOCK)
        self.add_sdram("sdram", phy=self.sdrphy, module=module, l2_cache_size=l2_bytes)
        add_ufp4(self, configuration)


def main(build, firmware, configuration, l2_bytes="0"):
    image = pathlib.Path(firmware).read_bytes()
    image += bytes(-len(image) % 4)
    os.makedirs(build, exist_ok=True)
    os.chdir(build)
    soc = Soc(list(struct.unpack(f"<{len(image) // 4}I", image)), configuration, int(l2_bytes))
    soc.finalize()
    soc.platform.get_verilog(soc, name="soc").write("soc.v")
    pathlib.Path("sources.txt").write_text("".join(f"{path}\n" for path, *_ in soc.platform.sources))
    pathlib.Path("csr.json").write_text(get_csr_json(soc.csr_regions, soc.constants, soc.mem_regions))


if __name__ == "__main__":
    main(*sys.argv[1:])
