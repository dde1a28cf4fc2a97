# SPDX-License-Identifier: Apache-2.0
"""Compares the trainer with PyTorch: witness_torch.py STEPS RECIPE [package], where STEPS is the program witness_steps.

The language model, its quantizer, the choice of sequences and the schedule are implemented again here; gradients are
PyTorch's autograd, and the optimizer is torch.optim.AdamW. Weights, moments and losses of the trainer come from its
checkpoints. There are two comparisons, by the relative distance (Euclidean norm) of the tensor that differs most:

  alone    PyTorch starts from the trainer's first weights and takes all steps by itself
  by step  PyTorch computes each gradient from the trainer's own weights before the step, and each update from its
           gradient

If operands are rounded to few bits, the FP32 rounding of the trainer occasionally moves a number across a boundary, and
the two trainings diverge; those recipes are therefore compared by step alone. With "package" the linear layers are
those of the Python package ufp4, in FP32, and everything else is as above: seed, layer and step give the same random
bytes and signs. Exits 0, 1, or 77 without torch or numpy.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from torch.nn import functional
except ModuleNotFoundError as error:
    print(f"skipped: {error}")
    sys.exit(77)

STEPS, VOCABULARY = 20, 256
COMPLEX = {torch.float64: torch.complex128, torch.float32: torch.complex64}
MATRICES = ("qkv", "proj", "fc1", "fc2")
BETAS = float(np.float32(0.9)), float(np.float32(0.95))
EPSILON, DECAY, CLIP, WARM_UP = 1e-8, 0.1, 1.0, 0.1

# Distances allowed for a tenth of the steps and for all of them, at least three times those seen on x86-64. In few bits
# a number that crosses a boundary dominates the latter, so those limits are wide; the tenth has the limit of FP32,
# which a wrong rule for codes or scales exceeds in every step.
EXACT = {"loss": {0.1: 1e-8, 1: 1e-7}, "gradient": {0.1: 2e-6, 1: 6e-6}, "weights": {0.1: 1.5e-7, 1: 2e-7}}
ALONE = {"loss": {0.1: 1e-7, 1: 1e-5}, "weights": {0.1: 2e-5, 1: 5e-5}}
BF16 = EXACT | {"loss": {0.1: 1e-8, 1: 4e-6}, "gradient": {0.1: 4e-4, 1: 2e-3}}
FOUR_BITS = EXACT | {"loss": {0.1: 1e-8, 1: 1e-5}, "gradient": {0.1: 2e-6, 1: 5e-2}}
# The package's layers are all in FP32: a loss has that rounding, and in some recipes a number crosses a boundary in
# every step. Other random bytes or signs give 1e-2 and more.
PACKAGE = FOUR_BITS | {"loss": {0.1: 6e-8, 1: 1e-5}, "gradient": {0.1: 3e-4, 1: 6e-2}}
BY_STEP = {"fp32": EXACT, "bf16": BF16, "ufp4": FOUR_BITS, "e2m1": FOUR_BITS}

# --- The trainer's files ---------------------------------------------------------------------------------


def write_text(path):
    """Writes words of an artificial language, the frequent ones short, separated by spaces and line breaks."""
    generator = random.Random(1)  # a constant seed, because the distances above belong to this text
    words = ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=2 + i // 4)) for i in range(20)]
    frequency = [1 / (i + 1) for i in range(20)]
    path.write_text(
        "".join(
            word + generator.choice([" ", " ", ", ", ".\n\n"]) for word in generator.choices(words, frequency, k=10000)
        )
    )


def read_training_text(path):
    """Reads a text with collapsed whitespace, without chunks 39, 79, .. of 64 KiB, or of a 40th of a short text."""
    text = b" ".join((b"x" + path.read_bytes() + b"x").split())[1:-1]
    size = min(65536, len(text) // 40)
    return b"".join(text[at : at + size] for i, at in enumerate(range(0, len(text), size)) if i % 40 != 39)


def read_checkpoint(path):
    """Returns (settings, {name: numpy array})."""
    data = path.read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    settings = header.pop("__metadata__")
    kinds = {"F32": np.float32, "F64": np.float64}
    return settings, {
        name: np.frombuffer(data[8 + length :][slice(*entry["data_offsets"])], kinds[entry["dtype"]])
        for name, entry in header.items()
    }


# --- Random numbers --------------------------------------------------------------------------------------


def threefry(key, counter):
    """Computes Threefry-4x32 with 12 rounds: four arrays of words, from four arrays or numbers."""

    def word(x):
        return np.asarray(x, np.uint64) & 0xFFFFFFFF

    key = [word(k) for k in key]
    key.append(key[0] ^ key[1] ^ key[2] ^ key[3] ^ 0x1BD11BDA)
    x = [word(word(c) + k) for c, k in zip(counter, key)]
    turns = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
    for i in range(12):
        for turn, (a, b) in zip(turns[i % 8], ((0, 1), (2, 3)) if i % 2 == 0 else ((0, 3), (2, 1))):
            x[a] = word(x[a] + x[b])
            x[b] = word(x[b] << turn | x[b] >> (32 - turn)) ^ x[a]
        if i % 4 == 3:
            at = (i + 1) // 4
            x = [word(x[j] + key[(at + j) % 5] + (at if j == 3 else 0)) for j in range(4)]
    return x


def random_bytes(seed, identity, rows, groups):
    """Returns the quantizer's random bytes, [rows][groups][16]."""
    words = threefry((seed, seed >> 32, 0, 0), (np.arange(rows * groups), 0, identity, identity >> 32))
    spread = [words[i // 4] >> (8 * (i % 4)) & 255 for i in range(16)]
    return torch.from_numpy(np.stack(spread, axis=-1).reshape(rows, groups, 16).astype(np.float64))


# --- The quantizer ---------------------------------------------------------------------------------------

SIGNS = torch.tensor([-1.0 if 0xD7E8 >> i & 1 else 1.0 for i in range(16)], dtype=torch.float64)
HADAMARD = torch.tensor([[(-1.0) ** (i & j).bit_count() for j in range(16)] for i in range(16)], dtype=torch.float64)
# The element of each recipe, and the passes whose operands are transformed.
RECIPES = {"ufp4": ("e1m2", ("fprop", "dgrad", "wgrad")), "e2m1": ("e2m1", ("wgrad",))}
PASSES = {
    ("x", 0): "fprop",
    ("w", 0): "fprop",
    ("dy", 0): "dgrad",
    ("w", 1): "dgrad",
    ("dy", 1): "wgrad",
    ("x", 1): "wgrad",
}


def binade(x):
    """Returns floor(log2 x)."""
    return torch.frexp(x)[1] - 1


def to_e4m3(x, up):
    step = torch.exp2(binade(x).clamp(min=-6).double() - 3)
    rounded = torch.ceil(x / step) if up else torch.round(x / step).clamp(min=1)
    return torch.where(x > 0, (rounded * step).clamp(max=448), 1)


def to_grid(x, elem, draws):
    """Rounds magnitudes to the nearest number of the grid, ties to even, or by their random bytes."""
    if elem == "e1m2":
        largest, step = 1.75, torch.full_like(x, 0.25)
    else:
        largest, step = 6, torch.exp2(binade(x).clamp(0, 2).double() - 1)
    x = x / step
    if draws is None:
        rounded = torch.round(x)
    else:
        rounded = torch.floor(x) + (x - torch.floor(x) > (draws + 0.5) / 256)
    return (rounded * step).clamp(max=largest)


def quantize(x, elem, rotate, draws):
    """Returns the values of a quantized [rows][cols], in blocks along rows, without undoing the transform; dY has
    draws, and scales rounded up."""
    largest = 1.75 if elem == "e1m2" else 6
    blocks = functional.pad(x.float().double(), (0, -x.shape[1] % 16)).reshape(x.shape[0], -1, 16)
    if rotate:
        unit = torch.exp2(binade(blocks.abs().amax(-1, keepdim=True)).double() - 23)
        blocks = (torch.trunc(blocks / unit) * unit * SIGNS) @ HADAMARD / 4
    peaks = blocks.abs().amax(-1, keepdim=True)
    factor = torch.exp2(binade(448 * largest / peaks.max()).double())
    scales = to_e4m3(peaks * factor / largest, up=draws is not None)
    values = to_grid(blocks.abs() * factor / scales, elem, draws)
    return (torch.sign(blocks) * values * scales / factor).reshape(x.shape[0], -1)


class Operands:
    """Makes the operands of a recipe's GEMMs for one step."""

    def __init__(self, recipe, seed, step):
        self.recipe, self.seed, self.step = recipe, seed, step

    def make(self, x, layer, role, axis):
        x = x.T if axis else x
        if self.recipe == "bf16":
            return x.bfloat16().to(x.dtype)
        elem, passes = RECIPES[self.recipe]
        draws = None
        if role == "dy":
            identity = self.step << 16 | layer << 4 | 2 << 1 | axis
            draws = random_bytes(self.seed, identity, x.shape[0], -(-x.shape[1] // 16))
        return quantize(x, elem, PASSES[role, axis] in passes, draws)


class Linear(torch.autograd.Function):
    """Computes three GEMMs, each with its own operands; the gradient passes straight through their rounding."""

    @staticmethod
    def forward(context, x, w, layer, operands):
        context.save_for_backward(x, w)
        context.make = lambda t, role, axis: operands.make(t, layer, role, axis)
        return context.make(x, "x", 0) @ context.make(w, "w", 0).T

    @staticmethod
    def backward(context, dy):
        x, w = context.saved_tensors
        dx = context.make(dy, "dy", 0) @ context.make(w, "w", 1).T
        dw = context.make(dy, "dy", 1) @ context.make(x, "x", 1).T
        return dx, dw, None, None


# --- The language model ----------------------------------------------------------------------------------


class Training:
    """The model, its optimizer and its data, with the settings of a checkpoint."""

    def __init__(self, settings, text, dtype, package=None):
        self.package = package
        for key in ("d-model", "heads", "layers", "ff", "context", "batch", "steps", "seed"):
            setattr(self, key.replace("-", "_"), int(settings[key]))
        self.rate = float(np.float32(settings["lr"]))
        self.recipe, self.text, self.dtype = settings["recipe"], text, dtype
        self.shapes = self.name_weights()
        self.weights = {
            name: torch.zeros(shape, dtype=dtype, requires_grad=True) for name, shape in self.shapes.items()
        }
        decayed = [w for name, w in self.weights.items() if "norm" not in name]
        others = [w for name, w in self.weights.items() if "norm" in name]
        groups = [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, betas=BETAS, eps=EPSILON)
        self.rope = self.rotations()
        self.clipped = []

    def name_weights(self):
        """Returns names and shapes in the order of the checkpoint."""
        d, ff = self.d_model, self.ff
        sizes = dict(zip(MATRICES, ((3 * d, d), (d, d), (2 * ff, d), (d, ff))))
        shapes = {"embedding": (VOCABULARY, d), "head": (VOCABULARY, d)}
        shapes |= {f"{b}.{name}": sizes[name] for b in range(self.layers) for name in MATRICES}
        shapes["norm"] = (d,)
        return shapes | {f"{b}.norm{i}": (d,) for b in range(self.layers) for i in (1, 2)}

    def rotations(self):
        """Returns [context][head / 2] complex numbers."""
        half = self.d_model // self.heads // 2
        angles = torch.outer(torch.arange(self.context).double(), 10000.0 ** (-torch.arange(half).double() / half))
        return torch.polar(torch.ones_like(angles), angles).to(COMPLEX[self.dtype])

    def load(self, tensors, step):
        """Sets the state of the trainer after that many steps."""
        parts = {name: self.split(tensors[name]) for name in ("weights", "first_moment", "second_moment")}
        for name, weight in self.weights.items():
            weight.data.copy_(parts["weights"][name])
            self.optimizer.state[weight] = {
                "step": torch.tensor(float(step)),
                "exp_avg": parts["first_moment"][name],
                "exp_avg_sq": parts["second_moment"][name],
            }

    def split(self, flat):
        flat, at, parts = torch.tensor(flat, dtype=self.dtype), 0, {}
        for name, shape in self.shapes.items():
            count = int(np.prod(shape))
            parts[name] = flat[at : at + count].reshape(shape).clone()
            at += count
        assert at == len(flat), f"the checkpoint has {len(flat)} weights, the model {at}"
        return parts

    def batch_of(self, step):
        """Returns inputs and targets, [batch][context]."""
        rows = (step << 20) + np.arange(self.batch)
        low, high, *_ = threefry((self.seed, self.seed >> 32, 2, 0), (rows, rows >> 32, 0, 0))
        places = (high << np.uint64(32) | low) % np.uint64(len(self.text) - self.context)
        tokens = np.stack([np.frombuffer(self.text, np.uint8, self.context + 1, int(at)) for at in places])
        tokens = torch.from_numpy(tokens.astype(np.int64))
        return tokens[:, :-1], tokens[:, 1:]

    def linear(self, x, block, name, step):
        weight = self.weights[f"{block}.{name}"]
        if self.package:
            layer = len(MATRICES) * block + MATRICES.index(name)
            return self.package.linear(x, weight, recipe=self.recipe, seed=self.seed, layer=layer, step=step)
        if self.recipe == "fp32":
            return functional.linear(x, weight)
        layer = len(MATRICES) * block + MATRICES.index(name)
        y = Linear.apply(x.flatten(0, 1), weight, layer, Operands(self.recipe, self.seed, step))
        return y.unflatten(0, x.shape[:2])

    def rotate(self, x):
        """x has [batch][heads][context][head], where elements i and i + half are a complex number."""
        turned = torch.complex(*x.chunk(2, dim=-1)) * self.rope
        return torch.cat((turned.real, turned.imag), dim=-1)

    def attention(self, x, block, step):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.linear(x, block, "qkv", step).chunk(3, dim=-1)
        )
        seen = functional.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
        return self.linear(seen.transpose(1, 2).flatten(-2), block, "proj", step)

    def feed_forward(self, x, block, step):
        gate, up = self.linear(x, block, "fc1", step).chunk(2, dim=-1)
        return self.linear(functional.silu(gate) * up, block, "fc2", step)

    def loss(self, step):
        def norm(x, name):
            return functional.rms_norm(x, (self.d_model,), self.weights[name], 1e-5)

        inputs, targets = self.batch_of(step)
        x = self.weights["embedding"][inputs]
        for b in range(self.layers):
            x = x + self.attention(norm(x, f"{b}.norm1"), b, step)
            x = x + self.feed_forward(norm(x, f"{b}.norm2"), b, step)
        logits = functional.linear(norm(x, "norm"), self.weights["head"])
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def rate_of(self, step):
        warm = np.ceil(WARM_UP * self.steps)
        if step < warm:
            return self.rate * (step + 1) / warm
        return self.rate * 0.5 * (1 + np.cos(np.pi * (step - warm) / (self.steps - warm)))

    def differentiate(self, step):
        """Returns the loss, and its clipped gradient by name."""
        for weight in self.weights.values():
            weight.grad = None
        loss = self.loss(step)
        loss.backward()
        gradient = {name: weight.grad for name, weight in self.weights.items()}
        length = torch.linalg.vector_norm(torch.cat([part.flatten() for part in gradient.values()]))
        self.clipped.append(length.item() > CLIP)
        return loss.item(), {name: part * min(1, CLIP / length) for name, part in gradient.items()}

    def update(self, step, gradient):
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate_of(step)
        for name, weight in self.weights.items():
            weight.grad = gradient[name]
        self.optimizer.step()


# --- Comparisons -----------------------------------------------------------------------------------------


def distance(got, want):
    """Returns the relative distance of the tensor that differs most."""
    return np.max(
        [
            (
                torch.linalg.vector_norm(got[name].double() - want[name].double())
                / torch.linalg.vector_norm(want[name].double())
            ).item()
            for name in want
        ]
    )


def take_alone(states, training):
    """Returns the distances after each step."""
    training.load(states[0], 0)
    seen = {"loss": [], "weights": []}
    for i in range(STEPS):
        loss, gradient = training.differentiate(i)
        training.update(i, gradient)
        seen["loss"].append(abs(states[i + 1]["losses"][i] / loss - 1))
        seen["weights"].append(distance(training.split(states[i + 1]["weights"]), training.weights))
    return seen


def take_by_step(states, training):
    """Returns the distances of each step."""
    seen = {"loss": [], "gradient": [], "weights": []}
    for i in range(STEPS):
        after = states[i + 1]
        gained = (after["first_moment"].astype(np.float64) - BETAS[0] * states[i]["first_moment"]) / (1 - BETAS[0])
        gained = training.split(gained)
        training.load(states[i], i)
        loss, gradient = training.differentiate(i)
        training.update(i, gained)
        seen["loss"].append(abs(after["losses"][i] / loss - 1))
        seen["gradient"].append(distance(gained, gradient))
        seen["weights"].append(distance(training.split(after["weights"]), training.weights))
    return seen


def report(what, seen, allowed):
    """Prints the distances within which a tenth of the steps and all of them lie. Returns whether they are allowed."""
    good = True
    for name, values in seen.items():
        for how, share in (("a tenth within", 0.1), ("all within", 1)):
            value, limit = np.quantile(values, share), allowed[name][share]
            good &= bool(value <= limit)  # not by a NaN
            print(f"{what}: {name}: {how} {value:.2g}, allowed {limit:.2g}{'' if value <= limit else ': TOO FAR'}")
    return good


def compare(recipe, settings, text, states):
    """Compares by step with the layers of this script, and alone for FP32. Returns whether all are near enough."""
    good = True
    if recipe == "fp32":
        for dtype in (torch.float64, torch.float32):
            good &= report(f"{recipe}, alone, {dtype}", take_alone(states, Training(settings, text, dtype)), ALONE)
    training = Training(settings, text, torch.float64)
    good &= report(f"{recipe}, by step, float64", take_by_step(states, training), BY_STEP[recipe])
    return good, training


def compare_package(recipe, settings, text, states):
    """Compares by step with the layers of the package."""
    import ufp4.torch

    training = Training(settings, text, torch.float32, ufp4.torch)
    return report(f"{recipe}, by step, ufp4.torch", take_by_step(states, training), PACKAGE), training


def main(program, recipe, package=None):
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_text(folder / "text")
        subprocess.run([program, folder / "text", folder, recipe], check=True, timeout=600)
        text = read_training_text(folder / "text")
        settings, states = {}, []
        for i in range(STEPS + 1):
            settings, tensors = read_checkpoint(folder / f"{i}.safetensors")
            states.append(tensors)
    good, training = (compare_package if package else compare)(recipe, settings, text, states)
    if not any(training.clipped) or all(training.clipped):
        print("some steps should clip their gradient, and some not")
        good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
