# SPDX-License-Identifier: Apache-2.0
"""Which random bytes a call of a layer has: those of its step,
and those of its first call where a checkpoint repeats it.

Before a checkpoint repeats calls, it gives torch's default generator the state that it had before the first ones
(preserve_rng_state). So each call that may be repeated draws a number from that generator: a repeated call draws the
number of the first one, every other call a new one. Where nothing can be repeated nothing is drawn, and the generator
is as torch.nn.Linear leaves it.
"""

import inspect
import threading
from collections import defaultdict

import torch
import torch.distributed

RANK_SHIFT = 32  # position of the rank in the step
KEPT = 1024  # calls of a layer


def checked(ids):
    """step, layer, seed and rank of a tensor or tuple of three or four numbers."""
    step, layer, seed, rank = numbers = (*(ids.tolist() if isinstance(ids, torch.Tensor) else ids), 0)[:4]
    if not (0 <= step < 2**48 and 0 <= layer < 2**12 and 0 <= seed):
        raise ValueError(f"ids are {list(numbers[:3])}; step, layer and seed must be below 2^48, 2^12 and 2^63")
    if not 0 <= rank < 2**16:
        raise ValueError(f"rank {rank} is out of range; it must be from 0 to 65535")
    if rank and step >= 2**RANK_SHIFT:
        raise ValueError(f"step {step} of rank {rank}; with a rank, step must be below 2^{RANK_SHIFT}")
    return numbers


def of_rank(step, rank):
    """Returns the number used as the step in the tensor id of X and dY."""
    return rank << RANK_SHIFT | step


def rank_of_process():
    return (
        torch.distributed.get_rank() if torch.distributed.is_available() and torch.distributed.is_initialized() else 0
    )


# --- On the GPU: int64 [2][3], seed, step and the tensor id of role and axis 0, of X and dY, and of W --------------


STEP_OF_ID = 1 << 16


def drawn(ids, rank, device):
    """The random numbers of a layer's calls on a GPU, a ufp4_cuda_random_t, which a captured graph reads each time."""
    step, layer, seed, rank = checked((*ids.tolist(), rank_of_process() if rank is None else rank))
    rows = [[seed, step, whole << 16 | layer << 4] for whole in (of_rank(step, rank), step)]
    return torch.tensor(rows, dtype=torch.uint64).view(torch.int64).to(device)


def advance(state):
    """Advances to the next step, on the GPU."""
    state[:, 1] += 1
    state[:, 2] += STEP_OF_ID


def of_drawn(state):
    """Returns step, layer, seed and rank on the host, which waits for the GPU."""
    (seed, step, whole), (_, _, rankless) = state.tolist()
    return step, whole >> 4 & 4095, seed, whole - rankless >> 48 & 65535  # steps may exceed 2^32 if the rank is 0


# --- On the host --------------------------------------------------------------------------------------


_calls = defaultdict(dict)  # by layer and seed: steps of recent calls, by the numbers they drew
_BACKWARD = torch.autograd.backward.__code__, torch.autograd.grad.__code__


def _has_hooks():
    """Returns whether hooks intercept the tensors that autograd saves, as a checkpoint with use_reentrant=False does in
    both calls."""
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks("asked by ufp4"):  # which fails if any hook is active
            return False
    except RuntimeError:
        return True


def _in_backward():
    """Returns whether this is called by a backward pass, on this thread or on autograd's thread for a GPU, which was
    not started by Python's module threading."""
    frame = inspect.currentframe()
    while frame.f_back is not None:
        if frame.f_code in _BACKWARD:
            return True
        frame = frame.f_back
    return threading.get_ident() != threading.main_thread().ident and frame.f_globals["__name__"] != "threading"


def number():
    """Draws a number from torch's default generator."""
    return torch.randint(2**62, (), device="cpu")


def _first_step(calls, step, number, certain):
    """Returns the step of the first call if this call repeats it; None: it is new, and its step is recorded. certain:
    in a backward pass it is a repetition."""
    backward = _in_backward()
    if backward and number in calls:
        return calls[number]
    if backward and certain:
        raise RuntimeError(
            f"activation checkpointing repeats a call that is not among the last {KEPT} of its layer; calls must be in "
            "one thread, and are known by torch's random numbers, which preserve_rng_state=False does not repeat"
        )
    calls.pop(number, None)  # a user may have restored the same state of the generator
    calls[number] = step
    if len(calls) > KEPT:
        del calls[next(iter(calls))]
    return None


def draw(ids, rank, counts, grad, drawn=None):
    """Returns step, layer, seed and rank of a call, and the step after it. rank: -1 is that of the process; grad:
    whether the caller's is enabled; drawn: a number that it drew."""
    step, layer, seed, rank = checked((*ids.tolist(), rank_of_process() if rank < 0 else rank))
    if not counts:
        return (step, layer, seed, rank), step
    calls, hooks, first = _calls[layer, seed], _has_hooks(), None
    if calls or hooks or not grad:
        drawn = int(number() if drawn is None else drawn)
        first = _first_step(calls, step, drawn, grad or hooks)  # a gradient's hook has neither, and its calls are new
    return ((step, layer, seed, rank), step + 1) if first is None else ((first, layer, seed, rank), step)


# --- The same as an operator: opaque to torch.compile, since what it gives depends on who calls ---------


def _draw_operator(ids, drawn, rank, counts):
    """step, layer, seed and rank. A compiler is not told that ids change, and autograd does not count it: a compiled
    checkpoint may call this again in its backward pass, with the ids as they are then and with the same number."""
    numbers, following = draw(ids, rank, counts, False, drawn)
    ids.data[0] = following
    return torch.tensor(numbers, device="cpu")


_library = torch.library.Library("ufp4", "FRAGMENT")
_library.define("draw(Tensor ids, Tensor drawn, int rank, bool counts) -> Tensor")
_library.impl("draw", _draw_operator, "CPU")


@torch.library.register_fake("ufp4::draw", lib=_library)
def _(ids, drawn, rank, counts):
    return ids.new_empty(4)


def numbers_on_gpu(state):
    """What a call draws by on a GPU. An operator for a compiled layer, which has to look at each call: when it is
    compiled nobody knows who will repeat it."""
    if _has_hooks() or _in_backward():
        raise RuntimeError(
            "activation checkpointing repeats calls, which a layer with random numbers on the GPU cannot recognize: "
            "call capturable(model, False) first, or do not use checkpointing"
        )
    return state.clone()


_library.define("numbers_on_gpu(Tensor state) -> Tensor")
_library.impl("numbers_on_gpu", numbers_on_gpu, "CompositeExplicitAutograd")


@torch.library.register_fake("ufp4::numbers_on_gpu", lib=_library)
def _(state):
    return torch.empty_like(state)
