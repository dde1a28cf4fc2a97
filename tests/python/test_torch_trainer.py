# SPDX-License-Identifier: Apache-2.0
"""Tests ufp4.torch in the Trainer of transformers: activation checkpointing must not change the trained weights."""

from torch_support import same, torch

import stand
import ufp4.torch as ut
from stand import check_equal

# Y depends on the random bytes through X, and on the step through the signs.
RECIPES = ("ufp4", {"elem": "e1m2", "rht": "integer", "signs": "step", "round": {"x": "sr", "w": "sr", "dy": "sr"}})
STEPS = 4


def trained(recipe, **how):
    """Returns the state of a trained small Llama."""
    try:
        import accelerate  # noqa: F401 the Trainer's
        from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments
    except ImportError as error:
        raise stand.Skipped(f"{error}; ./ufp4 test --full installs it from PyPI") from error
    torch.manual_seed(stand.stream(1))
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=2, num_key_value_heads=2))
    ut.convert(model, recipe, skip="lm_head", seed=3)
    draw = torch.Generator().manual_seed(stand.stream(2))
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(64, (4 * STEPS, 16), generator=draw)]
    quiet = {
        "report_to": "none",
        "save_strategy": "no",
        "logging_strategy": "no",
        "disable_tqdm": True,
        "use_cpu": True,
    }
    arguments = TrainingArguments(
        "out", max_steps=STEPS, per_device_train_batch_size=2, gradient_accumulation_steps=2, **quiet, **how
    )
    Trainer(model=model, args=arguments, train_dataset=rows).train()
    return model.state_dict()


def test_checkpoints_train_to_the_same_weights():
    for recipe in RECIPES:
        want = trained(recipe)
        check_equal(want["model.layers.0.mlp.up_proj.ids"].tolist()[0], 2 * STEPS, "steps")
        for kwargs in (None, {"use_reentrant": False}, {"use_reentrant": True}):
            got = trained(recipe, gradient_checkpointing=True, gradient_checkpointing_kwargs=kwargs)
            for name in want:
                same(got[name], want[name], f"{recipe}, {kwargs}: {name}")


if __name__ == "__main__":
    stand.main(globals())
