# SPDX-License-Identifier: Apache-2.0
"""Which random bytes a call of a layer has: those of its step, and those of its first call where torch.utils.checkpoint repeats it.

Every call is noted with the time at which it came, as autograd counts nodes on a thread. A checkpoint knows when it began: so the n-th call
of a layer while it repeats is the n-th one noted after that, and has its step. No x is looked at, and nothing is kept but times and steps.
"""

import sys
from array import array
from bisect import bisect_right
from collections import defaultdict

import torch
import torch.distributed
from torch.fx import traceback
from torch.utils.checkpoint import CheckpointPolicy

RANK_SHIFT = 32  # of the rank in the step
KEPT = 1024


def checked(ids):
    """step, layer, seed and rank of a tensor or tuple of three or four numbers."""
    step, layer, seed, rank = numbers = (*(ids.tolist() if isinstance(ids, torch.Tensor) else ids), 0)[:4]
    if not (0 <= step < 2**48 and 0 <= layer < 2**12 and 0 <= seed):
        raise ValueError(f"ids are {list(numbers[:3])}; step, layer and seed go to 2^48, 2^12 and 2^63")
    if not 0 <= rank < 2**16:
        raise ValueError(f"rank {rank} is out of range; it goes from 0 to 65535")
    if rank and step >= 2**RANK_SHIFT:
        raise ValueError(f"step {step} of rank {rank}; beside a rank it goes to 2^{RANK_SHIFT}")
    return numbers


def of_rank(step, rank):
    """What stands for the step in the tensor id of X and dY."""
    return rank << RANK_SHIFT | step


def rank_of_process():
    return (
        torch.distributed.get_rank() if torch.distributed.is_available() and torch.distributed.is_initialized() else 0
    )


class _Calls:
    """The last calls of a layer."""

    def __init__(self):
        self.forget(-1)

    def forget(self, time):
        self.times, self.steps, self.forgotten = array("q"), array("q"), time
        self.region, self.repeated = None, 0

    def note(self, step):
        time = torch.autograd._get_sequence_nr()
        if self.times and time < self.times[-1]:  # another thread, which counts for itself
            self.forget(-1)
        if len(self.times) == 2 * KEPT:
            self.forgotten = self.times[KEPT - 1]
            del self.times[:KEPT], self.steps[:KEPT]
        self.times.append(time)
        self.steps.append(step)

    def repeat(self, region):
        """The step of the next call that a checkpoint repeats."""
        self.repeated = self.repeated + 1 if region == self.region else 0
        self.region = region
        begin = region[0]
        place = bisect_right(self.times, begin) + self.repeated
        if begin < self.forgotten or place >= len(self.times):
            raise RuntimeError(
                f"a checkpoint repeats a call that ufp4 does not know; it keeps the last {KEPT} of each layer, of one thread"
            )
        return self.steps[place]


_calls = defaultdict(_Calls)  # by layer and seed


def _repeating():
    """When the checkpoint began that repeats calls at present, and the number of the backward pass; None: none does."""
    backward = torch._C._current_graph_task_id()
    frame = None if backward == -1 else sys._getframe(1)
    while frame is not None:
        place = frame.f_globals.get("__name__"), frame.f_code.co_name
        if place == ("torch.utils.checkpoint", "unpack_hook"):  # use_reentrant=False
            return frame.f_locals["frame"].input_saver.grad_fn._sequence_nr(), backward
        if place == ("torch.utils.checkpoint", "backward"):  # use_reentrant=True
            return frame.f_locals["ctx"]._sequence_nr(), backward
        if place == ("torch.autograd.graph", "_engine_run_backward"):  # a hook's call
            return None
        frame = frame.f_back
    return None


def draw(ids, rank, counts):
    """step, layer, seed and rank of a call, and the step after it. rank: -1 is that of the process."""
    step, layer, seed, rank = checked((*ids.tolist(), rank_of_process() if rank < 0 else rank))
    calls, region = _calls[layer, seed], _repeating()
    following = step + counts if region is None else step
    if region is not None:
        step = calls.repeat(region)
    calls.note(step)
    return (step, layer, seed, rank), following


# --- The same as an operator: opaque to torch.compile, since what it gives depends on who calls ---------


def _draw_operator(ids, rank, counts):
    numbers, following = draw(ids, rank, counts)
    return torch.tensor([*numbers, following], device="cpu")


def _draw_once(keys, ids, rank, counts):
    """Under autograd: a compiler that traces a checkpoint is told to save what was drawn, not to draw it again in the backward pass."""
    meta = traceback.get_current_meta()
    before = meta.get("recompute")
    if before is not None:
        meta["recompute"] = CheckpointPolicy.MUST_SAVE
    try:
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.ufp4.draw.default.redispatch(keys & torch._C._after_autograd_keyset, ids, rank, counts)
    finally:
        if before is not None:
            meta["recompute"] = before


_library = torch.library.Library("ufp4", "FRAGMENT")
_library.define("draw(Tensor ids, int rank, bool counts) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,))
_library.impl("draw", _draw_operator, "CPU")
_library.impl("draw", _draw_once, "Autograd", with_keyset=True)


@torch.library.register_fake("ufp4::draw", lib=_library)
def _(ids, rank, counts):
    return ids.new_empty(5)
