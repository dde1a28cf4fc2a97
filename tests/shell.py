# SPDX-License-Identifier: Apache-2.0
"""usage: shell.py PROPERTY: checks pipes of the shell scripts. A reader that leaves before its input ends, as `grep -q`
does at the first match, sometimes kills its writer, and under pipefail the whole pipe then fails as if nothing had
matched."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Words that may precede the program that reads.
BEFORE = re.compile(r"^(?:(?:!|\{|if|then|do|else|time|env|nice|command|\w+=\S*|timeout \S+) )+")
READERS = re.compile(
    r"""(?:[efz]?grep\ (?:-[ef]\ \S+\ |(?!-[ef]\ )\S+\ )*?(?:-[^\s'"efABCD-]*?[qml]|--quiet|--silent|--max-count|--files-with-matches)
  | head(?!\ -[nc]\ ?-)\b
  | sed\ (?:.*['"\s;\d$/{!])?[qQ]\s*\d*\s*(?:['";}]|$)
  | [gm]?awk\ .*\bexit\b
  | read\b)""",  # noqa: E501 (each alternative is one line)
    re.VERBOSE,
)


def scripts():
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT).parts[0]
        if inside in ("build", ".venv", ".git") or not path.is_file() or path.is_symlink():
            continue
        with path.open("rb") as file:
            if re.match(rb"#!.*\b(ba)?sh\n", file.readline()) or path.suffix == ".sh":
                yield path


def piped(text):
    """Returns (line number, command) for each command after a pipe in a script; quotes are kept, nested commands
    found."""
    text = re.sub(
        r"(?<!<)<<(?!<)-?\s*(['\"]?)(\w+)\1(.*\n)(?:.*\n)*?\s*\2\n",
        lambda m: m[3] + "\n" * (m[0].count("\n") - 1),
        text,
    )
    stack, found, at = ["code"], [], 0
    starts = []  # (depth, start) of commands after a pipe that have not ended

    def end(depth):
        while starts and starts[-1][0] >= depth:
            place = starts.pop()[1]
            found.append((text.count("\n", 0, place) + 1, " ".join(text[place:at].split())))

    while at < len(text):
        c, mode = text[at], stack[-1]
        if c == "\\":
            at += 1
        elif c == "'" and mode == "code":
            at = text.find("'", at + 1)
            if at < 0:
                break
        elif c == '"':
            stack.pop() if mode == "text" else stack.append("text")
        elif text.startswith("${", at):
            stack.append("name")
        elif c == "}" and mode == "name":
            stack.pop()
        elif c == "(" and (mode == "code" or text[at - 1] == "$"):
            stack.append("code")
        elif mode == "code":
            if c == "#" and (at == 0 or text[at - 1].isspace()):
                end(len(stack))
                at = text.find("\n", at)
                continue
            if c == ")":
                end(len(stack))
                if len(stack) > 1:
                    stack.pop()
            elif c in ";\n&|" and not (text[at - 1] in "<>" and c == "&"):
                if c != "\n" or not starts or text[starts[-1][1] : at].strip():
                    end(len(stack))
                if c == "|" and text[at + 1] != "|" and text[at - 1] != "|":
                    at += text[at + 1] == "&"
                    starts.append((len(stack), at + 1))
        at += 1
    end(0)
    return found


def leaving(text):
    return [(line, command) for line, command in piped(text) if READERS.match(BEFORE.sub("", command))]


def pipes_are_read_to_their_end():
    seen, wrong = 0, []
    for path in scripts():
        text = path.read_text()
        seen += len(piped(text))
        wrong += [f"{path.relative_to(ROOT)}:{line}: | {command}" for line, command in leaving(text)]
    if seen < 20:
        sys.exit(f"only {seen} pipes were found")
    if wrong:
        sys.exit("leaves before its input ends, give it a <(..) instead:\n" + "\n".join(wrong))


def finds_readers_that_leave():
    for text in (
        "a | grep -q x",
        "a | grep -qE '^(x|y)$' || b",
        "a | grep -oEm1 x",
        "a | grep -e x -m 1",
        "a | grep --quiet x",
        "a | grep -l x",
        "a | head",
        "a | head -n 2 | b",
        'x=$(a "$b" 2>/dev/null | head -n 1) || c',
        'x="$(a "$(c | head -c 3)")"',
        "a |\n  grep -q x",
        "a \\\n  | grep -q x",
        "a |& grep -q x",
        "a | sed -n 's/x/y/p; q'",
        "a | sed q",
        "a | sed -n '/x/{p;q}'",
        "a | sed 5q",
        "a | awk '{ print; exit }'",
        "a | mawk 'NR == 1 { exit }'",
        "a | LC_ALL=C timeout 5 grep -q x",
        "if ! a | grep -q x; then b; fi",
        "a | { read -r x; }",
        "echo 'it''s # no comment' | grep -q x",
        "echo ${#x} | grep -q x",
        "cat <<TEXT | grep -q x\nit's\nTEXT\n",
        "b <<'TEXT'\nit's\nTEXT\na | grep -q x",
    ):
        if len(leaving(text + "\n")) != 1:
            sys.exit(f"{text!r}: {piped(text + chr(10))}")


def takes_good_ones():
    for text in (
        "grep -q x <(a)",
        "grep -q x file || head file",
        "a || grep -q x",
        "a | grep -c x",
        "a | grep -e -q",
        "a | grep -E 'q|head -n 1'",
        "a | sed 's/q/m/; s|x|y|'",
        "a | tail -n 1",
        "a | head -n -1",
        "a | sort | uniq -c",
        "a # | head\n",
        "a '| head' \"| head\"",
        "a | while read -r x; do b; done",
        "a | cut -c1-32; head file",
        "cat <<TEXT\na | head\nTEXT\n",
        "a <<<x; b | wc -l",
        "a 2>&1 | b; grep -q x file",
    ):
        if leaving(text + "\n"):
            sys.exit(f"{text!r}: {leaving(text + chr(10))}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
