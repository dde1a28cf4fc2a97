# SPDX-License-Identifier: Apache-2.0
"""A small text and a tiny model, which the tests of train and demo share."""

import pathlib

from stand import passes, rejects

TINY = ["--d-model", "32", "--ff", "48", "--layers", "2", "--context", "16", "--batch", "4", "--eval", "256"]


def shape_with(*options):
    """Returns options for the tiny model and two steps, except those that `options` sets."""
    pairs = dict(zip(TINY[::2], TINY[1::2])) | {"--steps": "2"}
    return [word for option, value in pairs.items() if option not in options for word in (option, value)]


def write_text(size=40000):
    words = ["the ", "cat ", "sat ", "on ", "a ", "mat.\n"]
    state, parts = 1, []
    for _ in range(size // 4):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        parts.append(words[(state >> 16) % len(words)])
    pathlib.Path("text").write_text("".join(parts)[:size])
    return "text"


def trained(*options):
    """Trains the tiny model into the folder out."""
    return passes("train", write_text(), "-o", "out", *TINY, *options)


def reject_train(status, words, *options, size=40000):
    """Checks that train refuses these options with a good text, and leaves no folder."""
    rejects(status, words, "train", write_text(size), "-o", "out", *shape_with(*options), *options)


def demo():
    return "demo", "--text", write_text(), "--steps", "2", "--sequences", "1"
