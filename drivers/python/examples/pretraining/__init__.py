# SPDX-License-Identifier: Apache-2.0
"""The parts of the example pretrain.py: the model, the text, the folder of a training run, and its runs."""
