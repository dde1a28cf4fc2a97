# SPDX-License-Identifier: Apache-2.0
"""Tests a core that is mapped by UIO or /dev/mem, for which the timed model stands in a process of its own
(tests/driver/mmio)."""

import fcntl
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import stand
from stand import check, check_equal, passes, rejects, slow

BEGUN = "another program has started to use this core or its memory"
UIO, UDMABUF = "mmio:/dev/uio7", "mmio:/dev/uio7,/dev/udmabuf7"
ZYNQ = "Xilinx ZynqMP FPGA Manager"
MEM = "mmio:/dev/mem@0xa0000000+0x1000,0x70000000+0x4000000"


class StandIn:
    """The core and stand-ins for its devices, for the duration of a with statement."""

    def __init__(
        self,
        config="small",
        fault="none",
        trap="",
        maps=((0xA0000000, 4096), (0x70000000, 1 << 26)),
        buffer=(0x70000000, 1 << 26),
    ):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        for number, (address, size) in enumerate(maps):
            self.say(
                root / f"sys/class/uio/uio7/maps/map{number}",
                addr=f"{address:#018x}",
                size=f"{size:#018x}",
                offset="0x0",
            )
        self.say(root / "sys/class/u-dma-buf/udmabuf7", phys_addr=f"{buffer[0]:#018x}", size=str(buffer[1]))
        (root / "sys/class/uio/uio7/name").write_text("ufp4\n")
        (root / "run/lock").mkdir(parents=True)
        program, trap_library, self.displaced = os.environ["UFP4_STAND_IN_FILES"].split(":")
        self.process = subprocess.Popen([program, root, config, fault], stdout=subprocess.PIPE, text=True)
        check_equal(self.process.stdout.readline(), "ready\n", "the stand-in")
        self.environment = {"LD_PRELOAD": trap_library, "UFP4_STAND_IN": str(root), "UFP4_STAND_IN_FAULT": trap}

    @staticmethod
    def say(folder, **files):
        folder.mkdir(parents=True)
        for name, text in files.items():
            (folder / name).write_text(text + "\n")

    def writes_of(self, process):
        """Returns the register writes of a process."""
        lines = pathlib.Path(self.folder.name, "writes").read_text().splitlines()
        return [line for line in lines if line.split()[0] == str(process.pid)]

    def __enter__(self):
        os.environ.update(self.environment)
        return self

    def __exit__(self, *_):
        for name in self.environment:
            del os.environ[name]
        self.process.kill()
        self.process.communicate(timeout=600)
        self.folder.cleanup()


def tensors(tokens=96, cin=64, cout=48):
    for seed, (name, rows, cols) in enumerate((("X", tokens, cin), ("W", cout, cin), ("dY", tokens, cout))):
        stand.write_npy(f"{name}.npy", stand.gaussian(rows, cols, seed=seed))
    return ["X.npy", "W.npy", "dY.npy"]


def check_layer(backend, *options):
    whole = json.loads(
        passes("layer", *tensors(), "-o", "out", "--backend", backend, "--check", "model", "--json", *options).out
    )
    check_equal(whole["verdict"], "equal", f"{backend}: {whole}")
    check_equal([case["pass"] for case in whole["cases"]], ["fprop", "dgrad", "wgrad"], "passes")


def test_a_layer_equals_the_model():
    """The core is named in each possible way, and it quantizes."""
    for backend in (UIO, UDMABUF, MEM, "mmio:/dev/uio7,/dev/mem@0x70000000+0x4000000"):
        with StandIn():
            check_layer(backend)


def test_a_core_without_an_engine_multiplies():
    with StandIn("tiny"):
        check_layer(UIO)


def test_names_are_found_in_sysfs():
    with StandIn() as core:
        for backend in ("mmio:ufp4", "mmio:ufp4,udmabuf7"):
            passes("info", "--backend", backend)
        rejects(3, "no UIO device is called 'ufp5' (/sys/class/uio/uio*/name)", "info", "--backend", "mmio:ufp5")
        rejects(3, "cannot open /dev/udmabuf8: No such file", "info", "--backend", "mmio:ufp4,udmabuf8")
        core.say(pathlib.Path(core.folder.name, "sys/class/fpga_manager/fpga0"), name=ZYNQ, state="operating")
        passes("info", "--backend", "mmio:ufp4")


def test_rejects_logic_that_is_not_loaded():
    """The refusal comes before any register access."""
    with StandIn() as core:
        core.say(pathlib.Path(core.folder.name, "sys/class/fpga_manager/fpga0"), name=ZYNQ, state="unknown")
        core.process.kill()  # an access would return ones
        words = "/sys/class/fpga_manager/fpga0/state is 'unknown', not 'operating': load the bitstream first"
        for backend in (UIO, MEM):
            rejects(3, words, "info", "--backend", backend)


def test_asks_no_manager_but_that_of_a_zynq():
    """Another manager may report such a state for logic that works."""
    manager = {"name": "Stratix10 SOC FPGA Manager", "state": "unknown"}
    with StandIn() as core:
        core.say(pathlib.Path(core.folder.name, "sys/class/fpga_manager/fpga0"), **manager)
        passes("info", "--backend", UIO)


@slow
def test_a_demo_equals_the_model():
    with StandIn():
        out = passes("demo", "--steps", "1", "--sequences", "2", "--backend", UIO).out
        check("\n0 mismatches: equal in every bit\n" in out, out)
        check("bound_by names the limit" in out, out)


def test_tells_what_it_is():
    with StandIn():
        device = json.loads(passes("info", "--backend", UIO, "--json").out)["device"]
        check_equal(
            (device["configuration"]["name"], device["cycles"], device["memory_bytes"]),
            ("small", True, 1 << 26),
            "device",
        )
        check_equal(
            device["hardware"],
            "registers at 0xa0000000, 65536 KiB of memory at 0x70000000, with an interrupt",
            "hardware",
        )
        text = passes("info", "--backend", MEM, "--selftest").out
        check("polled, without an interrupt" in text and "memory    67096576          0 equal\n" in text, text)


@slow
def test_a_program_that_was_killed_leaves_a_core_that_serves():
    """The program is killed amid its jobs, twice."""
    names = tensors(512)
    with StandIn() as core:
        for _ in range(2):
            process = subprocess.Popen(
                [stand.PROGRAM, "layer", *names, "-o", "lost", "--backend", UIO], stderr=subprocess.DEVNULL
            )
            time.sleep(0.3)
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=600)
        check_layer(UIO)
        check(core.process.poll() is None, "the core is there")


@slow
def test_rejects_a_core_that_goes_away():
    """The core goes away amid a run, which gives one line and no output."""
    names = tensors(4096, 512, 512)
    with StandIn() as core:
        process = subprocess.Popen(
            [stand.PROGRAM, "layer", *names, "-o", "lost", "--backend", UIO], stderr=subprocess.PIPE, text=True
        )
        time.sleep(1)
        check(process.poll() is None, "the layer is over too soon")
        core.process.kill()
        error = process.communicate(timeout=600)[1]
    check_equal(process.returncode, 3, error)
    check("ufp4 layer: mmio:/dev/uio7: " in error and error.strip().count("\n") <= 1, f"one line: {error}")


def test_rejects_the_core_that_computes_as_its_own_check():
    """Another core behind the same file is accepted."""
    names = tensors()
    with StandIn():
        rejects(2, "is the same board that computes", "layer", *names, "-o", "out", "--backend", MEM, "--check", MEM)
        rejects(
            2,
            "the registers have only 256 bytes",
            "layer",
            *names,
            "-o",
            "out",
            "--backend",
            MEM,
            "--check",
            MEM.replace("+0x1000,", "+0x100,"),
        )


def test_rejects_a_core_in_use():
    with StandIn() as core, open(f"{core.folder.name}/memory") as memory:
        fcntl.flock(memory, fcntl.LOCK_EX)
        rejects(3, "/dev/udmabuf7 is in use by another program", "info", "--backend", UDMABUF)


class Layer:
    """A layer on the stand-in that is stopped amid its jobs."""

    FOURTH = 3 * 128  # the descriptor of a job; the first job is a test

    def __init__(self, core):
        words = ["layer", *tensors(2048, 128, 128), "-o", "out", "--backend", UIO, "--check", "model"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen([stand.PROGRAM, *words], text=True, **pipes)
        for _ in range(6000):
            with open(f"{core.folder.name}/memory", "rb") as memory:
                memory.seek(self.FOURTH)
                if any(memory.read(8)):
                    break
            time.sleep(0.01)
        self.process.send_signal(signal.SIGSTOP)
        check(self.process.poll() is None, "the layer is over too soon")

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        out, error = self.process.communicate(timeout=120)
        return self.process.returncode, out, error


def test_rejects_a_second_program():
    """It is refused by whatever device, and served once the first has ended."""
    os.umask(0o077)
    with StandIn() as core:
        first = Layer(core)
        for backend in (UIO, UDMABUF, MEM):
            rejects(3, "the core at 0xa0000000 is in use by another program", "info", "--backend", backend)
        status, out, error = first.end()
        check_equal(status, 0, f"the first one's status: {out} {error}")
        passes("info", "--backend", MEM)
        mode = pathlib.Path(core.folder.name, "run/lock/ufp4-a0000000.lock").stat().st_mode
        check_equal(oct(mode & 0o777), "0o644", "every user can lock the file")


def test_rejects_a_core_that_another_program_has_begun_to_use():
    """Where the lock does not help, the first program gives one line and no output."""
    with StandIn(trap="unlocked") as core:
        first = Layer(core)
        passes("info", "--backend", MEM)
        status, out, error = first.end()
    check_equal((status, out), (3, ""), error)
    check_equal(error, f"ufp4 layer: {UIO}: {BEGUN}\n", "its line")
    check(not pathlib.Path("out").exists(), "no output")


def test_a_displaced_program_writes_no_register():
    """This holds for every call, and it cannot reset the core, which belongs to the other program."""
    with StandIn(trap="unlocked") as core:
        for backend, call in ((MEM, "wait"), (UIO, "wait"), (UIO, "submit"), (UIO, "slot"), (UIO, "counters")):
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            first = subprocess.Popen([core.displaced, backend, call], text=True, **pipes)
            check_equal(first.stdout.readline(), "open\n", "the first one")
            passes("info", "--backend", MEM)
            before = core.writes_of(first)
            out = first.communicate("go\n", timeout=120)[0]
            check(before, "the stand-in tells of writes")
            check_equal(core.writes_of(first), before, f"{call}: register writes")
            check_equal(out, f"{call}: {backend}: {BEGUN}\nreset: {backend}: {BEGUN}\n", "what it is told")


def test_rejects_memory_that_another_program_has_begun_to_use():
    """The result is the same if the other program has submitted as many jobs."""
    with StandIn() as core:
        first = Layer(core)
        with open(f"{core.folder.name}/memory", "r+b") as memory:
            memory.seek((128 + 16) << 6)  # after the rings
            memory.write(b"anothers")
        status, out, error = first.end()
    check_equal((status, out), (3, ""), error)
    check_equal(error, f"ufp4 layer: {UIO}: {BEGUN}\n", "its line")
    check(not pathlib.Path("out").exists(), "no output")


def test_rejects_a_lock_that_cannot_be_made():
    with StandIn() as core:
        pathlib.Path(core.folder.name, "run/lock/ufp4-a0000000.lock").symlink_to("elsewhere")
        words = "cannot open /run/lock/ufp4-a0000000.lock, which keeps a second program off the core: Too many levels"
        rejects(3, words, "info", "--backend", UIO)


def operands():
    for name, rows in (("X", 96), ("W", 48)):
        stand.write_npy(f"{name}.npy", stand.gaussian(rows, 64))
        passes("quantize", f"{name}.npy", "-o", f"{name}.safetensors", "--elem", "e1m2")
    return ["X.safetensors", "W.safetensors"]


def test_a_lost_interrupt_costs_a_second():
    """The program prints a line at the end, and the result equals the model's."""
    names = operands()
    with StandIn(fault="loses"):
        result = passes("gemm", *names, "-o", "out.npy", "--backend", UIO, "--check", "model")
    words = "1 interrupts did not arrive; the program polled the core after a second instead, and no result is missing"
    check(result.err.startswith(f"ufp4 gemm: {UIO}: {words}\n"), result)


@slow
def test_a_long_job_is_not_cut():
    """The job takes twelve seconds."""
    names = operands()
    with StandIn("tiny", fault="slow"):
        passes("gemm", *names, "-o", "out.npy", "--backend", UIO, "--check", "model")


@slow
def test_rejects_a_core_that_stands_still():
    """The refusal comes ten seconds after the last cycle, with an interrupt and without."""
    names = operands()
    for backend in (UIO, MEM):
        with StandIn("tiny", fault="dies"):
            words = "neither ring_head nor the cycle counter has moved for 10 s"
            rejects(3, words, "gemm", *names, "-o", "out.npy", "--backend", backend)


def test_rejects_names_without_a_place():
    for where, words in (
        ("", "'' does not say where the core is"),
        ("/dev/mem@0x1000+0x1000", "does not say where the core is"),
        ("/dev/mem@5,6", "'5' does not say where the core is"),
        ("/dev/null", "is not a UIO device"),
        ("@1+1,1+1", "does not say where the core is"),
        ("/dev/mem@0x1000+4096,", "does not say where the core is"),
        ("/dev/mem@99999999999999999999+1,1+1", "does not say where the core is"),
    ):
        rejects(2, words, "info", "--backend", f"mmio:{where}")
    rejects(2, "does not say where the core is", "info", "--backend", "mmio")


def test_rejects_devices_that_are_not_there():
    rejects(
        3,
        "cannot open /dev/uio99: No such file or directory: is its kernel driver loaded?",
        "info",
        "--backend",
        "mmio:/dev/uio99",
    )
    with StandIn():
        rejects(3, "cannot open /dev/udmabuf99: No such file", "info", "--backend", "mmio:/dev/uio7,/dev/udmabuf99")


def test_rejects_another_device():
    """Its registers are zeros."""
    with StandIn(trap="none"):
        rejects(3, "the core's id is 0x0; this driver knows only 0x55465034", "info", "--backend", UIO)


def test_rejects_another_configuration():
    with StandIn():
        rejects(3, "the core is small, but default was requested", "info", "--backend", UIO, "--config", "default")


def test_rejects_sizes_that_no_core_has():
    with StandIn(maps=((0xA0000000, 256), (0x70000000, 1 << 26))):
        rejects(2, "the registers have only 256 bytes; a core has 4096", "info", "--backend", UIO)
    with StandIn(maps=((0xA0000000, 4096), (0x70000000, 8192))):
        rejects(2, "device memory has 8192 bytes", "info", "--backend", UIO)
    with StandIn(maps=((0xA0000000, 4096), (1 << 41, 1 << 26))):
        rejects(2, "device memory starts at 0x20000000000", "info", "--backend", UIO)
    with StandIn(maps=((0xA0000000, 4096),)):
        rejects(2, "has no memory as its second map; name the memory", "info", "--backend", UIO)
    rejects(2, "registers at 0x1001", "info", "--backend", "mmio:/dev/null@0x1001+0x1000,0x10000+0x10000")


def test_rejects_files_that_are_shorter_than_the_map():
    for size, words in (
        (0, "short has only 0 bytes, so registers of 4096 bytes at 0x0 is not inside it"),
        (4096, "short has only 4096 bytes, so memory of 65536 bytes at 0x0 is not inside it"),
        (8192, "short has only 8192 bytes, so registers of 4096 bytes at 0x3000"),
    ):
        pathlib.Path("short").write_bytes(bytes(size))
        at = "0x3000" if size == 8192 else "0x0"
        rejects(2, words, "info", "--backend", f"mmio:short@{at}+0x1000,short@0x0+0x10000")


def test_rejects_memory_that_does_not_hold_what_is_written():
    """Half of the memory is mapped twice."""
    with StandIn(trap="short"):
        rejects(3, "was written to address 0x7", "info", "--backend", UIO)


def test_rejects_memory_that_the_core_does_not_see():
    with StandIn(fault="elsewhere"):
        rejects(3, "the core did not complete a fence in the memory at 0x70000000", "info", "--backend", UIO)


def test_rejects_an_interrupt_that_never_comes():
    with StandIn(fault="deaf"):
        rejects(3, "a job has ended and no interrupt has come: is irq_o connected", "info", "--backend", UIO)
        check_layer(MEM)


if __name__ == "__main__":
    stand.main(globals())
