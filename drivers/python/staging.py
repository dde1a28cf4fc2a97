# SPDX-License-Identifier: Apache-2.0
"""The build backend: scikit-build-core, but for an sdist, which is made of a copy of this folder with the golden model
and the GPU library in core/.

Wheels of a checkout are built from ../.., those of an sdist from core/. Nothing is written here, so builds may run at
once.
"""

import contextlib
import os
import pathlib
import shutil
import tempfile

from scikit_build_core import build as hooks
from scikit_build_core.build import (  # noqa: F401 these are the hooks of a build backend
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = (
    "CMakeLists.txt",
    "cmodel/CMakeLists.txt",
    "cmodel/src",
    "cmodel/include",
    "cmodel/package",
    "cmodel/dpi",
    "drivers/backends/cuda",
)
IGNORED = shutil.ignore_patterns("__pycache__", ".*", "dist", "build", "*.egg-info")


def copy(source, target):
    """Copies links as the files to which they lead, such as LICENSE."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=IGNORED)
    else:
        shutil.copy2(source, target)


@contextlib.contextmanager
def staged():
    """In a checkout, makes a complete copy the current folder during the context; an sdist is already complete."""
    if (HERE / "core").exists():
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / "ufp4"
        copy(HERE, whole)
        for part in PARTS:
            copy(ROOT / part, whole / "core" / part)
        os.chdir(whole)
        try:
            yield
        finally:
            os.chdir(HERE)


def build_sdist(sdist_directory, config_settings=None):
    target = os.path.abspath(sdist_directory)
    with staged():
        return hooks.build_sdist(target, config_settings)
