# SPDX-License-Identifier: Apache-2.0
"""The build backend: scikit-build-core, with what lies outside of this folder staged into it for as long as it works.

In a checkout the golden model is ../.., and the licence is there; an sdist holds the former in core/, and the latter beside this file.
"""
import contextlib
import pathlib
import shutil

from scikit_build_core import build as hooks
from scikit_build_core.build import build_editable, get_requires_for_build_editable, get_requires_for_build_sdist, \
    get_requires_for_build_wheel  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORE = HERE / "core"
PARTS = ("CMakeLists.txt", "cmodel/CMakeLists.txt", "cmodel/src", "cmodel/include", "cmodel/package", "cmodel/dpi")


def copy_model():
    for part in PARTS:
        (CORE / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy2)(ROOT / part, CORE / part)


@contextlib.contextmanager
def staged(with_model=False):
    """In a checkout the licence, and the golden model, are here for as long as this lasts; in an sdist they stay."""
    if not (ROOT / "cmodel/include/ufp4/spec.h").exists():
        yield
        return
    try:
        shutil.copy2(ROOT / "LICENSE", HERE)
        if with_model:
            copy_model()
        yield
    finally:
        (HERE / "LICENSE").unlink(missing_ok=True)
        shutil.rmtree(CORE, ignore_errors=True)


def build_sdist(*arguments, **options):
    with staged(with_model=True):
        return hooks.build_sdist(*arguments, **options)


def build_wheel(*arguments, **options):
    with staged():
        return hooks.build_wheel(*arguments, **options)


def prepare_metadata_for_build_wheel(*arguments, **options):
    with staged():
        return hooks.prepare_metadata_for_build_wheel(*arguments, **options)
