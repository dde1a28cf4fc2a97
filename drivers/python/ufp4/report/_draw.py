# SPDX-License-Identifier: Apache-2.0
"""Pictures by matplotlib as SVG, the same bytes each time; numbers and pages."""

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
    """For a page: what HTML has no use for is left out, and names that nothing refers to,
    which other pictures have too."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg)
    return re.sub(r' id="[A-Za-z0-9]+(_\d+)+"', "", svg)


@contextlib.contextmanager
def picture(width, height, panels=1, rows=1, **options):
    """Gives (axes, out): axes to draw on, in a size of inches;
    afterwards out["svg"] has the picture for a page, out["file"] for a file."""
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
    """Of {name: what is drawn}, on the right of the axes, or in so many columns below the picture."""
    names = [" "] * len(drawn)  # set afterwards: one that begins with _ would be left out
    if columns:
        made = axes.figure.legend(list(drawn.values()), names, loc="outside lower center", ncols=columns)
    else:
        made = axes.legend(list(drawn.values()), names, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for text, name in zip(made.get_texts(), drawn):
        text.set_text(name)


# --- Pages ----------------------------------------------------------------------------------------------


def number(value, digits, sign=""):
    """A number for a cell; what has no value, as the deviation of one seed, is a dash. sign: of positive ones."""
    if value is None or not math.isfinite(value):
        return "\N{EN DASH}"
    return f"{'' if value < 0 else sign}{value:.{digits}f}"


def counted(count, noun):
    """1 block, 2 blocks."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def page(template, **values):
    """A page from report/TEMPLATE, all text in it escaped but for pictures."""
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
    """Whole or not at all: beside it, then renamed."""
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
