# SPDX-License-Identifier: Apache-2.0
"""What the example pretrain.py is made of: the model, the text, the folder of a training, and its runs."""
