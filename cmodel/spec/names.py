# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of names of values, in C and for the Python package (drivers/python)."""

CONFIGURATION_NAME = 80  # bytes
# Values of program options: ELEM_WORDS and so on, in the order of the values.
WORDS = (
    "elem",
    "scale",
    "dtype",
    "round",
    "scale_round",
    "layout",
    "contract",
    "block",
    "rht_size",
    "role",
    "pass",
    "axis",
)


def c_header(spec, note, values_of):
    """Returns the tables of all names, and the function that searches them."""
    counts = (
        [name.upper() for name, _, _ in values_of]
        + [size.upper() for size in spec["sizes"]]
        + ["BACKEND", "BACKEND_CLASS"]
    )
    out = [
        f"// {note}",
        "// SPDX-License-Identifier: Apache-2.0",
        "// Tables of names by value, and the search for the value of a name.",
        "#ifndef UFP4_NAMES_H",
        "#define UFP4_NAMES_H",
        "",
        "#include <string.h>",
        "",
        '#include "ufp4/recipe.h"',
        "",
        "// clang-format off",
    ]
    for name in counts:
        size = "UFP4_ELEM_KINDS" if name == "ELEM" else f"UFP4_{name}_COUNT"
        out.append(f"static const char *const {name.lower()}_names[{size}] = UFP4_{name}_NAMES;")
    for name, names in spec["names"].items():
        out.append(
            f"static const char *const {name}_names[{len(names)}] = {{" + ", ".join(f'"{one}"' for one in names) + "};"
        )
    words = {name: [value for value, _, _ in values] for name, _, values in values_of} | spec["sizes"] | spec["names"]
    words["elem_table"] = [f["name"] for f in spec["format"]]
    out += [f'#define {name.upper()}_WORDS "{"|".join(map(str, words[name]))}"' for name in (*WORDS, "elem_table")]
    for name, count in (
        ("role", "UFP4_ROLE_COUNT"),
        ("pass", "UFP4_PASS_COUNT"),
        ("axis", "UFP4_AXIS_COL + 1"),
        ("signs", "UFP4_SIGNS_STEP + 1"),
        ("matrix", "UFP4_MATRIX_COUNT"),
    ):
        out.append(f'_Static_assert(sizeof {name}_names / sizeof *{name}_names == {count}, "{name}");')
    return "\n".join(
        [
            *out,
            "",
            "/** Returns the index of the name @p text, of @p length bytes, or @p count if there is none. */",
            (
                "static inline unsigned names_find(const char *text, size_t length, const char *const *names, "
                "unsigned count) {"
            ),
            "  unsigned i = 0;",
            "  while (i < count && (strlen(names[i]) != length || memcmp(text, names[i], length) != 0)) i++;",
            "  return i;",
            "}",
            "// clang-format on",
            "",
            "#endif",
            "",
        ]
    )


def package(spec, note, keys, values_of):
    version = ".".join(str(spec["version"][part]) for part in ("major", "minor", "patch"))
    names = {name: tuple(value for value, _, _ in values) for name, _, values in values_of}
    out = [
        f"# {note}",
        "# SPDX-License-Identifier: Apache-2.0",
        '"""Names and numbers of the formats."""',
        f'VERSION = "{version}"',
    ]
    for name in ("elem", "scale", "dtype", "round", "scale_round", "rht", "layout", "contract"):
        out.append(f"{name.upper()}S = {names[name]!r}".replace("'", '"'))
    for name, plural in (
        ("role", "roles"),
        ("pass", "passes"),
        ("axis", "axes"),
        ("signs", "signs"),
        ("matrix", "matrices"),
    ):
        out.append(f"{plural.upper()} = {tuple(spec['names'][name])!r}".replace("'", '"'))
    out.append(f"SCALE_BLOCK = {tuple(spec['enum']['scale']['block'])!r}")
    out += [f"{key.upper()}S = {sizes!r}" for key, sizes in spec["sizes"].items()]
    out.append(f"ELEM_FRAC = {tuple(f['frac'] for f in [*spec['format'], spec['mixed']])!r}")
    out.append(f"MAX_DIM = {spec['limit']['max_dim']}")
    out.append(f"RHT_MASK = 0x{spec['limit']['rht_default_mask']:X}")
    out += [f"FLAG_{flag['name'].upper()} = {1 << flag['bit']}" for flag in spec["flag"]]
    out.append(f"COUNTERS = {tuple(c['name'] for c in spec['counter'])!r}".replace("'", '"'))
    out.append(f"CONFIGURATION_NAME = {CONFIGURATION_NAME}")
    out.append(f"CONFIGURATION_KEYS = {tuple(keys)!r}".replace("'", '"'))
    return "\n".join(out) + "\n"
