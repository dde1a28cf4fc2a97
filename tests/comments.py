# SPDX-License-Identifier: Apache-2.0
"""usage: comments.py PROPERTY: finds comments that open with What, Of, As, Where, Whether or The same but are no
sentence.

"What a text has said." and "Of this rank." have no main verb, so the reader has to guess what is meant. The
beginning of a comment, up to its first full stop, semicolon or colon, must have a verb, and one more for each word
that begins a clause: what, where, which, that, .. A list defines the verbs. A correct sentence may need its verb
added to the list, and a noun that looks like a verb may let a wrong one pass."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".c", ".h", ".cpp", ".cu", ".cuh", ".sv", ".v", ".vlt", ".py", ".sh", ".cmake"}
MODAL = "can could may might must will would shall should do does did"
FINITE = """
is are was were has have had cannot come exist follow give go keep left lie need span stay take
adds allows answers appears applies asks becomes begins belongs brings builds calls carries changes checks comes
consists contains counts covers decides depends differs ends enters exists fails falls fills finds follows gets gives
goes grows happens hinders holds keeps knows leaves lets lies lists looks loses makes marks matters means meets moves
names needs overflows passes picks prints proves puts reaches reads refreshes refuses reports returns rounds runs says
sees sends serve serves sets shares shows speaks stands starts stays steps stops stores takes tells tests uses waited
waits wants works writes
"""
WORD = rf"(?:(?:{'|'.join(MODAL.split())})\b(?: not)?(?: \w+)?|(?:{'|'.join(FINITE.split())}))\b"
VERB = re.compile(rf"\b{WORD}(?: (?:and|or) {WORD})*")  # "reads and writes" is one
CLAUSE = re.compile(
    r"\b(?:what|where|whether|which|who|whose|whom|how|that|when|while|if|because|since|until|unless"
    r"|(?<=, )as(?! in\b))\b",
    re.IGNORECASE,
)
OPENING = re.compile(r"(?:What|Of|As|Where|Whether|The same)\b")
# "As the RTL does, .." has a clause; "As in the RTL, .." and "As many as .." have none.
AS_CLAUSE = re.compile(r"As (?!(?:a|above|an|at|before|by|far|few|for|if|in|long|many|much|of|on|soon|with)\b)")
SPDX = "SPDX-License-Identifier"  # what follows it is the head of a file
MARK = re.compile(r"\s*(?:///?<?|/\*\*?|\*(?!/)|#)(?: |$)")


def comments(text):
    """Yields (line number, words) of each comment that has its lines for itself."""
    start, words = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        mark = MARK.match(line)
        if words and (not mark or line.lstrip().startswith("/*") or SPDX in words[-1]):
            yield start, " ".join(words).strip()
            words = []
        if mark:
            start = start if words else number
            words.append(line[mark.end() :].removesuffix("*/").strip())
            if line.endswith("*/"):
                yield start, " ".join(words).strip()
                words = []


def is_broken(comment):
    clause = re.split(r"[.;:](?:\s|$)", comment)[0]
    wanted = 1 + bool(AS_CLAUSE.match(clause)) + len(CLAUSE.findall(clause))
    return bool(OPENING.match(clause)) and len(VERB.findall(clause)) < wanted


def sources():
    for path in sorted(ROOT.rglob("*")):
        name = path.relative_to(ROOT)
        if name.parts[0] == "build" or any(part[0] == "." for part in name.parts) or not path.is_file():
            continue
        if path.suffix in SUFFIXES or path.name == "CMakeLists.txt":
            yield name.as_posix(), path.read_text()


def openings_have_a_verb():
    seen, wrong = 0, []
    for name, text in sources():
        for line, words in comments(text):
            seen += 1
            if is_broken(words):
                wrong.append(f"{name}:{line}: {words[:100]}")
    if seen < 5000:
        sys.exit(f"only {seen} comments were found")
    if wrong:
        sys.exit("no verb follows (tests/comments.py says how that is found):\n" + "\n".join(wrong))


def finds_openings_without_one():
    for text in (
        "// What a text has said so far.",
        "  // What is seen of one.",
        "/** What is wrong with the name; empty: nothing is. */",
        "/// What a job reads and writes, a bit each.",
        "/** Of the job that is done. */",
        "// Of tensors with a long side.",
        "# Of a job, as the core counts it.",
        "/** As ufp4_quantize; @p out is allocated. */",
        "// As rtl.top.rejects_*, beyond each edge.",
        "// As the core counts them.",
        "# Where a copy's codes go.",
        "/**\n * Where what is written there goes: links are followed.\n */",
        "// Whether blocks of the element can be E2M1.",
        "/** Whether there is an instruction; otherwise it may not be called. */",
        "/** The same for E2M1, whose cells are half a binade wide. */",
        "// The same with an outside memory.",
        "// What many lines\n// have of it. This is a sentence.",
        "int x; // What is not looked at\n// What is.\n",
        "/** One. */\n/** What two are. */",
        "// SPDX-License-Identifier: Apache-2.0\n// What files share.",
    ):
        if [is_broken(words) for _, words in comments(text)].count(True) != 1:
            sys.exit(f"{text!r}: {list(comments(text))}")


def takes_good_ones():
    for text in (
        "// What nobody waits for is dropped.",
        "// What a client has asked for must come.",
        "// Of the refreshes the last one is enough.",
        "// As the RTL does, it waits for the bus.",
        "// As in the RTL a burst ends here.",
        "// As many runs as there are cores take no longer than one.",
        "// Where the exponents span no more, each sum is exact.",
        "/** Where nobody answers, a bus has ones. */",
        "// Whether a core has the engine decides where a tensor is quantized.",
        "// The same rules serve the memory, which moves data, and the timed model.",
        "// This tells\n// What a text has said.",
        "// Whatever it is called.",
        'say("// What is no comment");',
    ):
        if any(is_broken(words) for _, words in comments(text)):
            sys.exit(f"{text!r}: {list(comments(text))}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
