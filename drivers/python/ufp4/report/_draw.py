# SPDX-License-Identifier: Apache-2.0
"""Pictures by matplotlib as SVG with reproducible bytes; numbers and pages."""

import contextlib
import io
import math
import os
import pathlib
import re
import tempfile

COLORS = ("#444444", "#0969da", "#d1242f", "#9a6700", "#1a7f37", "#8250df", "#bf3989", "#0a7b83")
INK, GRID = "#222222", "#dddddd"
STYLE = {
    "svg.hashsalt": "ufp4",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.parse_math": False,
    "axes.edgecolor": "#999999",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}


def color(index):
    return COLORS[index % len(COLORS)]


def _svg(figure):
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return file.getvalue()


def _inline(svg):
    """Shortens a picture for a page: removes what HTML does not need, and names without references, which other
    pictures also have."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg)
    return re.sub(r' id="[A-Za-z0-9]+(_\d+)+"', "", svg)


@contextlib.contextmanager
def picture(width, height, panels=1, rows=1, **options):
    """Yields (axes, out): axes to draw on, in a size in inches; afterwards out["svg"] has the picture for a page,
    out["file"] for a file."""
    import matplotlib
    from matplotlib.figure import Figure

    out = {}
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": "svg", **STYLE}):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, panels, **options)
        yield axes, out
        out["file"] = _svg(figure)
        out["svg"] = _inline(out["file"])


def legend(axes, drawn, columns=0):
    """Draws a legend of {name: artist}, to the right of the axes, or in that many columns below the picture."""
    names = [" "] * len(drawn)  # set afterwards, because names that begin with _ would be left out
    if columns:
        made = axes.figure.legend(list(drawn.values()), names, loc="outside lower center", ncols=columns)
    else:
        made = axes.legend(list(drawn.values()), names, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for text, name in zip(made.get_texts(), drawn):
        text.set_text(name)


# --- Pages ----------------------------------------------------------------------------------------------


def number(value, digits, sign=""):
    """Formats a number for a cell; a missing value, such as the deviation of a single seed, is a dash. sign: also for
    positive numbers."""
    if value is None or not math.isfinite(value):
        return "\N{EN DASH}"
    return f"{'' if value < 0 else sign}{value:.{digits}f}"


def counted(count, noun):
    """Formats "1 block", "2 blocks"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def page(template, **values):
    """Makes a page from report/TEMPLATE, in which all text is escaped and pictures are not."""
    import jinja2

    loader = jinja2.FileSystemLoader(pathlib.Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.globals.update(number=number, counted=counted)
    try:
        return environment.get_template(template).render(**values)
    except jinja2.UndefinedError as error:
        raise LookupError(str(error)) from error


def write(path, text):
    """Writes completely or not at all: beside the target, then renamed."""
    try:
        _write(pathlib.Path(path).resolve(), text)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _write(path, text):
    handle, beside = tempfile.mkstemp(prefix=".ufp4-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(beside, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
