# SPDX-License-Identifier: Apache-2.0
"""Hooks of MkDocs. They write the last test run to the status page, and copy and link the output of other tools
(register pages, C API). The build folder is UFP4_BUILD, or build/release."""

import os
import pathlib
import shutil

import status

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("UFP4_BUILD") or ROOT / "build/release")
# A folder in the build folder, its place in the site, its first page, the page that links it, and the link's text.
MADE = [
    (
        "docs/registers",
        "ip/register-pages",
        "index.html",
        "ip/registers.md",
        "Register by register, with each bit: [register pages]",
    ),
    ("docs/c-api/html", "reference/c-api", "files.html", "howto/link-library.md", "Every function and type: [C API]"),
    ("docs/c-api/html", "reference/c-api", "files.html", "howto/drive-core.md", "Every function and type: [C API]"),
]


def on_page_markdown(markdown, page, config, files):
    path = page.file.src_uri
    if path == "verification/status.md" and (BUILD / "test.xml").exists():
        return status.page(BUILD / "test.xml")
    for folder, place, first, where, words in MADE:
        if path == where and (BUILD / folder / first).exists():
            title, rest = markdown.split("\n\n", 1)
            # The link is in HTML, because MkDocs does not know these files.
            link = words.replace(
                "[", f'<a href="{os.path.relpath(place, pathlib.Path(path).parent)}/{first}">'
            ).replace("]", "</a>")
            markdown = f"{title}\n\n{link}.\n\n{rest}"
    return markdown


def on_post_build(config):
    for folder, place, *_ in MADE:
        if (BUILD / folder).exists():
            shutil.copytree(BUILD / folder, pathlib.Path(config["site_dir"]) / place, dirs_exist_ok=True)
