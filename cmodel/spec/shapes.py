# SPDX-License-Identifier: Apache-2.0
"""Makes the checks of a core's parameters and the constants derived from them, in SystemVerilog and C."""

import re

import common


def expression_of(spec, text, prefix, constant):
    """Translates the functions and constants of a value or a rule to a language."""
    for s in spec["shape"]:
        text = re.sub(rf"\b{s['name']}\(", f"{prefix}{s['name']}(", text)
    return re.sub(r"\b[A-Z][A-Z0-9_]+\b", lambda found: constant(found[0]), text)


def folded(text, width):
    """Breaks an expression that is too long for a line behind an &&; further lines are indented by 9."""
    lines = [""]
    for part in text.split(" && "):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part + " && "
    return "\n         ".join(line.strip() for line in lines).removesuffix(" &&")


def check_words(spec, top):
    """Checks that ufp4_top has the rules' messages, as literals because not every tool takes parameters in $error."""
    for rule in spec["legal"]:
        if f'$error("ufp4_top: {rule["says"]}");' not in top:
            raise SystemExit(f"rtl/ufp4_top.sv does not say: {rule['says']}")


def sv_package(spec, note):
    expression = lambda text: folded(expression_of(spec, text, "", lambda name: f"32'({name})"), 108)
    arguments = lambda entry: (
        ", ".join(f"int unsigned {a}" for a in entry["arguments"][:3])
        + "".join(f",\n    int unsigned {a}" for a in entry["arguments"][3:])
    )
    out = [
        f"// {note}",
        "// SPDX-License-Identifier: Apache-2.0",
        "// Which parameters of ufp4_top go together (docs/ip/architecture.md, Shapes of the array), and",
        "// values derived from them. ufp4_top checks the rules, and always elaborates a legal set below",
        "// itself. Each rule assumes those before it. Test: rtl.top.rejects_*. In C:",
        "// cmodel/src/base/shape.h.",
        "package ufp4_shape_pkg;",
        "  import ufp4_spec_pkg::*;",
    ]
    for s in spec["shape"]:
        out += [
            "",
            *common.sv_comment(s["doc"]),
            f"  function automatic int unsigned {s['name']}({arguments(s)});",
            f"    return {expression(s['value'])};",
            "  endfunction",
        ]
    for rule in spec["legal"]:
        out += [
            "",
            *common.sv_comment(f"{rule['says'][0].upper()}{rule['says'][1:]}."),
            f"  function automatic bit {rule['name']}_legal({arguments(rule)});",
            f"    return {expression(rule['rule'])};",
            "  endfunction",
        ]
    return "\n".join([*out, "endpackage", ""])


def memory_bits(spec, expression):
    """Returns the C function that counts the bits of all memories that docs/tools/memories.py lists."""
    used = sorted(
        {
            word
            for row in spec["memory"]
            for key in ("count", "words", "bits")
            for word in re.findall(r"\b[a-z_]+\b", row[key])
        }
    )
    names = [name for name in used if name in spec["configuration"][0]]
    out = [
        "/** The smallest power of two >= x. */",
        "static inline uint32_t shape_power_of_two_from(uint32_t x) {",
        "  uint32_t power = 1;",
        "  while (power < x) power *= 2;",
        "  return power;",
        "}",
        "/** The number of memories of a kind, their words, and the bits per word without parity. */",
        "typedef struct {",
        "  uint32_t count, words, bits;",
        "} shape_memory_t;",
        "/** The memories of a core whose target is cells, by ufp4_sram_t. */",
        "static inline void shape_memories(const ufp4_configuration_t *c, shape_memory_t memories[UFP4_SRAM_COUNT]) {",
        *(f"  const uint32_t {name} = c->{name};" for name in names),
        "  const uint32_t target = (uint32_t)UFP4_TARGET_ASIC;",
    ]
    for row in spec["memory"]:
        own = lambda text: expression(text).replace("power_of_two_from(", "shape_power_of_two_from(")
        count, words, bits = (own(row[key]) for key in ("count", "words", "bits"))
        for field, text in zip(("count", "words", "bits"), (count, words, bits)):
            out.append(f"  memories[UFP4_SRAM_{row['key'].upper()}].{field} = (uint32_t)({text});")
    return [
        *out,
        "}",
        "/** The bits of all these memories, including parity. */",
        "static inline uint64_t shape_memory_bits(const ufp4_configuration_t *c) {",
        "  shape_memory_t memories[UFP4_SRAM_COUNT];",
        "  uint64_t bits = 0;",
        "  shape_memories(c, memories);",
        "  for (int i = 0; i < UFP4_SRAM_COUNT; i++)",
        "    bits += (uint64_t)memories[i].count * memories[i].words * (memories[i].bits + 1);",
        "  return bits;",
        "}",
    ]


def c_header(spec, note):
    expression = lambda text: folded(expression_of(spec, text, "shape_", lambda name: f"(uint32_t)UFP4_{name}"), 108)
    arguments = lambda entry: ", ".join(f"uint32_t {a}" for a in entry["arguments"])
    out = [
        f"// {note}",
        "// SPDX-License-Identifier: Apache-2.0",
        "// The legal parameters of a core and the constants derived from them: ufp4_shape_pkg in C.",
        "#ifndef UFP4_SHAPE_H",
        "#define UFP4_SHAPE_H",
        "",
        "#include <stddef.h>",
        "",
        '#include "ufp4/spec.h"',
        "",
        "// clang-format off",
    ]
    for s in spec["shape"]:
        out += [
            f"/** {s['doc']} */",
            f"static inline uint32_t shape_{s['name']}({arguments(s)}) {{",
            f"  return {expression(s['value'])};",
            "}",
        ]
    for rule in spec["legal"]:
        out += [
            f"static inline int shape_{rule['name']}_legal({arguments(rule)}) {{",
            f"  return {expression(rule['rule'])};",
            "}",
        ]
    out += [
        "/** Returns ufp4_top's message about an illegal configuration, or NULL if it is legal. */",
        "static inline const char *shape_refusal(const ufp4_configuration_t *c) {",
    ]
    for rule in spec["legal"]:
        out += [
            f"  if (!shape_{rule['name']}_legal({', '.join('c->' + a for a in rule['arguments'])}))",
            f'    return "{rule["says"]}";',
        ]
    targets = spec["enum"]["target"]["values"]
    out += ["  return NULL;", "}", *memory_bits(spec, expression)]
    out += [
        "/** The targets for which the named configurations are simulated, in their order. */",
        "#define SHAPE_TARGETS {" + ", ".join(str(targets.index(c["simulated"])) for c in spec["configuration"]) + "}",
        "// clang-format on",
        "",
        "#endif",
        "",
    ]
    return "\n".join(out)
