# SPDX-License-Identifier: Apache-2.0
"""Tests explore with a step in micro-batches and on many chips, against calculations by hand."""

import csv
import pathlib

import stand
from stand import check, check_equal, passes
from explorations import explore, shapes

HEAD = "name,cin,cout,count,kind,tokens,repeat,group,share\n"
PAIR = HEAD + "up,64,96,1,,,,,columns\ndown,96,64,1,,,,,rows\n"
EXPERTS = HEAD + "mix,64,64,1,,,,,\nup,64,32,4,,2/4,,,columns\ndown,32,64,4,,2/4,,,rows\n"
TIMES = ["compute_ms", "gather_ms", "exchange_ms", "send_ms", "bubble_ms", "reduce_ms", "reduce_exposed_ms", "chips_ms"]
BYTES = ["weight", "gradient", "optimizer", "copy", "activation"]
SMALL = ("--config", "small", "--serial")


def near(got, want, what, most=6e-5):
    check(abs(float(got) - want) <= most, f"{what} is {got}, by hand {want}")


def ring(n, size, speed, us=2):
    """Returns the milliseconds of n - 1 messages of a part of n, at so many bytes per ms."""
    return (n - 1) * (size / n / speed + us / 1e3)


def pipeline(chips, micro, forward, backward):
    """Returns the end of a schedule of one forward, one backward on chips in a row. Each job runs in its order as soon
    as its inputs are there."""
    order = []
    for chip in range(chips):
        ahead = min(micro, chips - chip)
        jobs = [("f", i) for i in range(ahead)]
        for i in range(micro):
            jobs += [("b", i)] + ([("f", ahead + i)] if ahead + i < micro else [])
        order.append(jobs)
    ended, free, at = {}, [0.0] * chips, [0] * chips
    while any(at[chip] < len(order[chip]) for chip in range(chips)):
        for chip in range(chips):
            if at[chip] == len(order[chip]):
                continue
            kind, index = order[chip][at[chip]]
            before = (kind, index, chip - 1) if kind == "f" else (kind, index, chip + 1)
            alone = (chip == 0) if kind == "f" else (chip == chips - 1)
            if alone and kind == "b":
                before = ("f", index, chip)
            if (not alone or kind == "b") and before not in ended:
                continue
            start = max(free[chip], ended.get(before, 0.0))
            free[chip] = ended[kind, index, chip] = start + (forward if kind == "f" else backward)
            at[chip] += 1
    return max(free)


def late(count, transfer, hidden):
    """Returns the time that remains exposed when passes of so many blocks each start a transfer, one after the
    other."""
    left = 0
    for _ in range(count):
        left = max(0, left - hidden) + transfer
    return left


def test_cycles_of_micro_batches_are_those_of_their_jobs():
    whole, rows = (explore(*SMALL, "--tokens", "96", *more) for more in ((), ("--micro-batches", "3")))
    part = {(r["layer"], r["pass"], r["tensor"]): r for r in explore(*SMALL, "--tokens", "32")}
    jobs = [r for r in rows if r["pass"] != "all"]
    done = set()
    for r in jobs:
        key = r["layer"], r["pass"], r["tensor"]
        alone, adds = part[key], key in done  # the second row of WGRAD reads the earlier dW
        count = 2 if adds else 1 if r["tensor"] == "W" or r["pass"] == "wgrad" else 3
        check_equal(int(r["count"]), count * int(alone["count"]), f"{key}: count")
        if not adds:
            check_equal(r["cycles"], alone["cycles"], f"{key}: cycles")
        for name in ("read_bytes", "bus_read_bytes"):
            check_equal(int(r[name]) - int(alone[name]), adds * 4 * int(r["m"]) * int(r["n"]), f"{key}: {name}")
        done.add(key)
    check_equal(len(jobs) - len(done), 2, "rows of WGRAD that adds")
    step = rows[-1]
    check_equal(int(step["cycles"]), sum(int(r["count"]) * int(r["cycles"]) for r in jobs), "of the step")
    check_equal((step["macs"], step["micro_batches"]), (whole[-1]["macs"], "3"), "MACs")
    check(int(step["live_bytes"]) < int(whole[-1]["live_bytes"]), "live")


def test_gradients_of_activations_are_of_one_micro_batch():
    """A product of two activations has no weights: both are quantized in each micro-batch, and no earlier gradient is
    read."""
    model = HEAD + "up,64,96,1,,,,,\nscores,32,seq,2,matmul,,,,\n"
    for options in ((), ("--serial",)):
        words = ("--config", "small", *options)
        part = {
            (r["pass"], r["tensor"]): r
            for r in explore(*words, "--tokens", "32", model=shapes(model))
            if r["layer"] == "scores"
        }
        rows = explore(*words, "--tokens", "96", "--micro-batches", "3", model=shapes(model))
        jobs = [r for r in rows if r["layer"] == "scores"]
        check_equal([(r["pass"], r["tensor"]) for r in jobs], list(part), "one row of each job")
        for r in jobs:
            alone = part[r["pass"], r["tensor"]]
            check_equal(int(r["count"]), 3 * int(alone["count"]), f"{r['pass']}: count")
            check_equal(r["read_bytes"], alone["read_bytes"], f"{r['pass']}: bytes read")
        up = [int(r["count"]) for r in rows if r["layer"] == "up" and r["pass"] == "wgrad"]
        check_equal(up, [1, 2], "of weights")
        for name in ("read_bytes", "write_bytes", "macs"):
            every = sum(int(r["count"]) * int(r[name] or 0) for r in rows if r["pass"] != "all")
            check_equal(int(rows[-1][name]), every, f"{name} of the step")


def test_sequences_have_whole_parts():
    words = ("--tokens", "90", "--micro-batches", "3", "--chips", "1x4x1", "--link", "1,1", "--serial")
    message = "--sequence-parallel: TP is 4, which does not divide the 30 tokens of a micro-batch"
    stand.rejects(2, message, "explore", shapes(PAIR), "-o", "out", *words, "--sequence-parallel")


def test_further_micro_batches_side_by_side_make_no_copies_of_weights():
    steps, reads = {}, {}
    for micro in (1, 2, 5):
        rows = explore("--config", "small", "--tokens", str(32 * micro), "--micro-batches", str(micro), "--layers", "2")
        steps[micro] = int(rows[-1]["cycles"])
        units = 2 * sum(
            int(r["count"]) * -(-int(r["m"]) // 16) * -(-int(r["n"]) // 16) for r in rows if r["pass"] == "quant"
        )
        check_equal(int(rows[-1]["quant_blocks"]), 16 * units, "blocks that QUANT makes")
        for name in ("read_bytes", "write_bytes", "macs"):
            jobs = sum(int(r["count"]) * int(r[name] or 0) for r in rows if r["pass"] != "all")
            check_equal(int(rows[-1][name]), jobs, f"{name} of the jobs of the lists")
        reads[micro] = int(rows[-1]["read_bytes"])
    check(steps[5] < 5 * steps[1], f"{steps}")
    # A further micro-batch reads dW in FP32, while the first one's AMAX and QUANT each read W in BF16: as many bytes.
    check_equal([reads[micro] for micro in (2, 5)], [micro * reads[1] for micro in (2, 5)], "bytes read")


def pair_step(*options, model=PAIR):
    rows = explore(*SMALL, "--clock-mhz", "1000", *options, model=shapes(model))
    return rows, rows[-1]


def test_pairs_on_stages_are_a_hand_calculation():
    tokens, micro, speed, slow = 32, 4, 1e7, 2e6
    words = ("--tokens", str(tokens * micro), "--micro-batches", str(micro), "--layers", "4", "--chips", "4x2x2")
    links = ("--link", "10,2:2,3")
    alone = explore(*SMALL, "--tokens", str(tokens), model=shapes("name,cin,cout,count\nup,64,48,1\ndown,48,64,1\n"))
    for zero in range(4):
        for sequence in (False, True):
            for again in (False, True):
                more = ["--zero", str(zero)] + ["--sequence-parallel"] * sequence + ["--recompute"] * again
                rows, step = pair_step(*words, *links, *more)
                got, true = ([[r[n] for n in ("layer", "pass", "m", "n", "k")] for r in of] for of in (rows, alone))
                check_equal([one for i, one in enumerate(got) if one not in got[:i]], true, "shapes")
                block = int(rows[-2]["cycles"]) / 1e6 / micro
                y = dx = 2 * ring(2, 2 * tokens * 64, speed)
                send = 2 * (2 * tokens * 64 / (2 if sequence else 1) / slow + 0.003)
                forward = block / 3 + y
                backward = block * (1 if again else 2 / 3) + dx + (y if again else 0)
                weights = 2 * 64 * 96 / 2
                dw, w = ring(4, 4 * weights, slow, 3), ring(4, 2 * weights, slow, 3)
                hidden = {
                    0: late(2, 2 * dw, backward),
                    1: late(2, dw, backward) + late(2, w, forward),
                    2: micro * late(2, dw, backward) + late(2, w, forward),
                }
                hidden[3] = hidden[2]  # copies of W are made once and kept
                whole = {0: 2 * dw, 1: dw + w, 2: micro * dw + w, 3: micro * dw + w}
                passes = pipeline(2, micro, 2 * forward + send / 2, 2 * (backward + 0) + send / 2)
                each = 2 * micro
                want = {
                    "compute_ms": each * block * (4 / 3 if again else 1),
                    "gather_ms": each * (y + dx + (y if again else 0)),
                    "exchange_ms": 0,
                    "send_ms": micro * send,
                    "reduce_ms": 2 * whole[zero],
                    "reduce_exposed_ms": hidden[zero],
                    "chips_ms": passes + hidden[zero],
                }
                for name, ms in want.items():
                    near(step[name], ms, f"{more}: {name}")
                near(step["bubble_ms"], passes - sum(want[name] for name in TIMES[:4]), "bubble")


def folded(chips, stages, micro, times):
    """Returns the end of a schedule of one forward, one backward with several stages per chip, in which each job runs
    as soon as its inputs are there; and for each chip the most micro-batches whose backward pass is still due. times:
    the forward and backward times of each stage."""
    order, most = [], []
    for chip in range(chips):
        all = micro * stages
        ahead = min(all, 2 * (chips - chip - 1) + (stages - 1) * chips)
        passes = {"f": [], "b": []}
        for i in range(all):  # micro-batches in groups as large as the number of chips, stage by stage
            group, at, stage = i // (chips * stages), i % chips, i % (chips * stages) // chips
            passes["f"].append(("f", group * chips + at, stage * chips + chip))
            passes["b"].append(("b", group * chips + at, (stages - 1 - stage) * chips + chip))
        jobs = passes["f"][:ahead]
        for i in range(all):
            jobs += passes["f"][ahead + i : ahead + i + 1] + [passes["b"][i]]
        order.append(jobs)
        most.append(min(ahead + 1, all) / stages)
    ended, free, last = {}, [0.0] * chips, chips * stages - 1
    while any(order):
        for chip in range(chips):
            if not order[chip]:
                continue
            kind, index, stage = order[chip][0]
            before = (kind, index, stage - 1 if kind == "f" else stage + 1)
            if kind == "b" and stage == last:
                before = ("f", index, last)
            if before not in ended and (kind, stage) != ("f", 0):
                continue
            start = max(free[chip], ended.get(before, 0.0))
            free[chip] = ended[order[chip].pop(0)] = start + times[stage][kind == "b"]
    return max(free), most


def test_stages_that_are_interleaved_are_played():
    """With 12 blocks all stages have two. With 11 the first stage has one, so that the pipeline waits less than the
    formula says; with 9 half of them have one, so that it waits more."""
    tokens, micro, kept = 32, 6, 2 * 32 * (64 + 96) + 2 * (4 + 6) * 288
    for layers, least, most in ((12, 1, 1), (11, 0.95, 1), (9, 1.03, 1.07)):
        words = ("--tokens", str(tokens * micro), "--micro-batches", str(micro), "--layers", str(layers))
        rows, step = pair_step(*words, "--chips", "1x1x3", "--link", "1,2", "--interleave", "2")
        block, send = int(rows[-2]["cycles"]) / 1e6 / micro, 2 * tokens * 64 / 1e6 + 0.002
        blocks = [2 - (i < 12 - layers) for i in range(6)]
        played, flying = folded(3, 2, micro, [(n * block / 3 + send, n * block * 2 / 3 + send) for n in blocks])
        ratio = played / float(step["chips_ms"])
        check(least - 1e-4 <= ratio <= most + 1e-4, f"{layers} blocks: {step['chips_ms']} ms, played {played}")
        near(step["send_ms"], 2 * 2 * micro * send, "sent")
        if layers == 12:
            want = int(flying[0] * 4 * kept + 2 * 6 * 288 + 2 * tokens * (64 + 96))
            check_equal((flying[0], int(step["chip_activation_bytes"])), (4, want), "in flight")


def test_blocks_are_shared_evenly():
    """The numbers of blocks of two chips differ by at most one, whatever their stages."""
    for layers, chips, stages, most in ((80, 16, 4, 5), (9, 8, 1, 2), (126, 16, 4, 8), (5, 3, 1, 2)):
        words = ("--tokens", "256", "--micro-batches", "16", "--layers", str(layers), "--link", "1,0")
        _, step = pair_step(*words, "--chips", f"1x1x{chips}", "--interleave", str(stages))
        what = f"{layers} blocks on {chips} chips of {stages}"
        near(step["compute_ms"], int(step["cycles"]) / 1e6 * most / layers, what)
        check_equal(int(step["chip_weight_bytes"]), 2 * most * 2 * 64 * 96, what)


def test_experts_on_chips_are_a_hand_calculation():
    words = ("--tokens", "64", "--chips", "4x1x1x2", "--link", "1,2")
    rows, step = pair_step(*words, model=EXPERTS)
    up = next(r for r in rows if r["layer"] == "up" and r["pass"] == "fprop")
    check_equal(
        (up["count"], up["m"], up["n"], up["k"]), ("2", "64", "32", "64"), "two experts with tokens of two replicas"
    )
    rows_sent = 64 * 2
    near(step["exchange_ms"], 4 * ring(2, 2 * rows_sent * 64, 1e6), "to experts and back, forward and backward")
    dense, own = 64 * 64, 2 * 2 * 64 * 32
    near(
        step["reduce_ms"], 2 * (ring(4, 4 * dense, 1e6) + ring(2, 4 * own, 1e6)), "gradients of experts stay among two"
    )
    check_equal(int(step["chip_weight_bytes"]), 2 * (dense + own), "weights of a chip")
    sent = 4 * 2 * rows_sent * 64 / 2 + 2 * (3 * 4 * dense / 4 + 4 * own / 2)
    check_equal(int(step["sent_bytes"]), int(sent), "bytes that a chip sends")


def test_experts_on_chips_that_share_layers_are_a_hand_calculation():
    """Each of two chips sends half of the rows, and both then have them; the sums are scattered before they are sent
    back."""
    _, step = pair_step("--tokens", "64", "--chips", "4x2x1x2", "--link", "10,2:1,3", model=EXPERTS)
    rows, half = 64 * 2, 2 * 64 * 2 * 64 / 2
    near(step["exchange_ms"], 4 * (ring(2, half, 1e6, 3) + ring(2, 2 * rows * 64, 1e7)), "to experts and back")
    near(step["gather_ms"], 2 * ring(2, 2 * 64 * 64, 1e7), "tokens' sums, which are scattered")
    dense, own = 64 * 64, 2 * 2 * 64 * 32 / 2
    sent = 4 * (half / 2 + rows * 64) + 2 * 64 * 64 + 2 * (3 * 4 * dense / 4 + 4 * own / 2)
    check_equal(int(step["sent_bytes"]), int(sent), "bytes that a chip sends")


def test_bytes_of_a_product_of_two_activations_are_a_hand_calculation():
    """Both tensors of each head on a chip are kept, and the gradient of the second one is FP32."""
    model = HEAD + "up,64,32,1,,,,,\nscores,32,seq,2,matmul,,,,\n"
    for heads, micro in ((2, 1), (1, 2)):
        words = ("--tokens", str(64 * micro), "--micro-batches", str(micro), "--chips", f"1x{2 // heads}x1")
        _, step = pair_step(*words, "--link", "1,1", model=model)
        kept = 2 * 64 * 64 + 4 * 4 * 288 + 2 * heads * (2 * 64 * 32 + 4 * 2 * 288)
        passing = heads * (4 * 4 * 288 + 2 * 64 * (32 + 64) + 4 * 32 * 64)
        check_equal(int(step["chip_activation_bytes"]), kept + passing, f"{heads} heads on a chip")


def test_bytes_of_a_chip_are_a_hand_calculation():
    """By hand: panel units have 144 bytes, and each tensor has two copies."""
    tokens, micro = 32, 4
    words = ("--tokens", str(tokens * micro), "--micro-batches", str(micro), "--layers", "4", "--chips", "4x2x2")
    numbers = 2 * 2 * 64 * 48  # weights of two blocks
    copies_w = 2 * 2 * 4 * 3 * 288
    x_up, x_down = 2 * tokens * 64, 2 * tokens * 48
    copies_x = (2 * 4 + 2 * 3) * 288
    passing = max(2 * 3 * 288, 2 * 4 * 288) + 2 * tokens * (64 + 48)
    for zero in range(4):
        for more in ((), ("--sequence-parallel",), ("--recompute",)):
            _, step = pair_step(*words, "--link", "1,1", "--zero", str(zero), *more)
            part = x_up / (2 if more == ("--sequence-parallel",) else 1)
            kept = part + x_down + copies_x
            held = 2 * 2 * (part if more == ("--recompute",) else kept) + (kept if more == ("--recompute",) else 0)
            want = {
                "weight": 2 * numbers / (4 if zero == 3 else 1),
                "gradient": 4 * numbers / (4 if zero >= 2 else 1),
                "optimizer": 12 * numbers / (4 if zero >= 1 else 1),
                "copy": copies_w,
                "activation": held + passing,
            }
            for name in BYTES:
                check_equal(int(step[f"chip_{name}_bytes"]), int(want[name]), f"zero {zero}, {more}: {name}")
            check_equal(int(step["chip_bytes"]), int(sum(want.values())), "all")
    size = int(step["chip_bytes"]) / 1e9
    fits = [
        pair_step(*words, "--link", "1,1", "--zero", "3", "--recompute", "--hbm-gb", f"{gb:.9f}")[1]["fits"]
        for gb in (size * 1.01, size * 0.99)
    ]
    check_equal(fits, ["yes", "no"], "fits")


def test_waiting_and_links_take_energy():
    words = ("--tokens", "128", "--micro-batches", "4", "--layers", "4", "--link", "0.1,2", "--ppa", "asap7")
    _, step = pair_step(*words, "--chips", "4x2x2", "--link-pj", "10")
    _, one = pair_step(
        "--tokens", "128", "--micro-batches", "4", "--layers", "4", "--ppa", "asap7", model=PAIR.replace("96", "48")
    )
    near(step["joules"], 2 * float(one["joules"]), "of two chips that share layers", 1e-12)
    lane_cycles = 64 * 1e6 * (16 * float(step["chips_ms"]) - 16 * float(step["compute_ms"]))
    idle = float(one["idle_joules"]) / (64 * int(one["cycles"]) - int(one["macs"]))
    clock = float(one["clock_joules"]) / (64 * int(one["cycles"]))
    want = lane_cycles * (idle + clock)
    near(step["wait_joules"], want, "waiting", 1e-4 * want)
    near(step["link_joules"], 16 * int(step["sent_bytes"]) * 10e-12, "links", 1e-15)
    parts = 4 * float(step["joules"]) + float(step["wait_joules"]) + float(step["link_joules"])
    near(step["chips_joules"], parts, "all", 1e-6 * parts)


def test_layouts_with_the_same_jobs_are_measured_once_and_the_others_say_why():
    words = ("--tokens", "128", "--micro-batches", "1,4", "--layers", "4", "--link", "1,2")
    rows, _ = pair_step(*words, "--chips", "4x2x2,2x2x1,1x5x1,1x2x5")
    steps = {(r["chips"], r["micro_batches"]): r for r in rows if r["layer"] == "step"}
    check_equal(len(steps), 8, "cases")
    for layout in ("4x2x2", "2x2x1"):
        _, alone = pair_step(
            "--tokens", "128", "--micro-batches", "4", "--layers", "4", "--link", "1,2", "--chips", layout
        )
        check_equal(steps[layout, "4"], alone, layout)
    check(steps["1x5x1", "1"]["reason"].startswith("--chips: TP is 5, which does not divide up"), "TP 5")
    check_equal(steps["1x2x5", "4"]["reason"], "--chips: PP is 5, but the model has only 4 blocks", "five stages")


def test_a_published_layout_has_the_published_bubble_and_activations():
    """The layout is GPT-3 on 64 chips as in table 3 of Korthikanti et al., arXiv 2205.05198, with its equation of
    memory, and the bubble of Narayanan et al., arXiv 2104.04473: (p - 1) / (v m) of the ideal time."""
    pathlib.Path("gpt3.json").write_text('{"model_type": "gpt2", "n_embd": 12288, "n_layer": 96, "n_head": 96}')
    passes(
        *("explore", "--hf", "gpt3.json", "-o", "out", "--config", "large", "--serial", "--link", "300,2:25,5"),
        *("--sequence-parallel", "--tokens", "131072", "--micro-batches", "64", "--interleave", "3"),
        *("--chips", "1x8x8"),
    )
    with open("out/explore.csv", newline="") as file:
        step = list(csv.DictReader(file))[-1]
    ideal = sum(float(step[name]) for name in ("compute_ms", "gather_ms", "send_ms"))
    near(float(step["bubble_ms"]) / ideal, 7 / (3 * 64), "bubble", 1e-6)
    tokens, width, blocks, tensor, pipeline, parts = 2048, 12288, 96, 8, 8, 3
    numbers = tokens * width * blocks * (1 + (pipeline - 1) / (pipeline * parts))
    published = 34 * numbers / tensor  # with sequence parallelism and selective recomputation
    inputs = 14 * numbers / tensor  # of these, BF16 inputs of QKV, projection, FC1 and, four times as wide, FC2
    copies = 2 * 9 / 16 * numbers * (2 + 5 / tensor)  # copies for QKV and FC1 are whole
    backward = tokens * width * (2 * 9 / 16 + 2 * (1 + 4 / tensor))  # in FC2: copies of dY, dY, dX
    near(step["chip_activation_bytes"], inputs + copies + backward, "activations", 1e-6 * published)
    check(1.1 < float(step["chip_activation_bytes"]) / published < 1.13, "what the page says")


if __name__ == "__main__":
    stand.main(globals())
