#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The rules of the house that a compiler does not know.

    tools/lint.py [--build DIR]

Reads every file that git tracks or would track, prints FILE:LINE: RULE: SENTENCE for each finding
and exits with 1 if there is any. With --build it also asks DIR/compile_commands.json whether each C
file is compiled at all. tools/lint_selftest.py shows for each rule that it can fire.

A rule is a function over a Source (one file) or over all of them, listed in FILE_RULES or
TREE_RULES. To add one: write it, list it, give it a sample in lint_selftest.py.
"""
import json
import os
import re
import subprocess
import sys

COLUMNS = 100
FUNCTION_LINES = 70

# ---------------------------------------------------------------------------------------------
# Layers: who may include whom. doc/architecture.md has the same table in words.
# ---------------------------------------------------------------------------------------------

BELOW_GROTH16 = {"base", "par", "ff", "curve", "pairing", "poly", "msm", "io"}
LAYERS = {
    "base": set(),
    "par": {"base"},
    "ff": {"base"},
    "curve": {"ff", "base"},
    "pairing": {"curve", "ff", "base"},
    "poly": {"ff", "par", "base"},
    "msm": {"curve", "ff", "par", "base"},
    "gpu": {"ff", "curve", "poly", "msm", "base"},
    "io": {"curve", "ff", "par", "base"},
    "groth16": BELOW_GROTH16 | {"gpu"},
    "api": BELOW_GROTH16 | {"groth16", "gpu"},
    "json": set(),
    "sched": {"base"},
    "engine": {"sched", "par", "base"},
    "cli": {"json", "sched"},
    "daemon": {"engine", "json", "base"},
    "shim": {"json", "groth16"},
}
# Layers that become part of a library: they print nothing, end no process, allocate through base.
CORE_LAYERS = BELOW_GROTH16 | {"groth16", "api"}
LIBRARY_LAYERS = CORE_LAYERS | {"gpu", "json", "sched", "engine", "shim"}

# Where a header from outside may be included; anything else must be in SYSTEM_HEADERS.
GUESTS = {
    r"jansson\.h": r"src/json/|src/cli/|src/daemon/|test/",
    r"cuda.*\.h|cuda_.*|cub/.*|nvml\.h": r"src/gpu/|test/gpu/|bench/gpu/",
    r"sqlite3\.h": r"src/engine/journal|test/engine/",
    r"grpc/.*|protobuf-c/.*|.*\.pb-c\.h": (
        r"src/daemon/(rpc|service|client)_|test/daemon/|test/fuzz/"
    ),
    r"microhttpd\.h": r"src/daemon/http",
    r"(sys/(socket|un|ioctl)|netinet/(in|tcp)|arpa/inet|netdb)\.h": r"src/daemon/|test/",
    r"sys/prctl\.h": r"src/daemon/|test/",
    r"cmocka\.h|gmp\.h|setjmp\.h": r"test/",
    r"cpuid\.h|immintrin\.h|x86intrin\.h": r"src/base/|src/ff/|test/|bench/",
    r"sys/mman\.h": r"src/base/|src/io/|test/",
    r"signal\.h|ucontext\.h": r"src/par/|src/io/|src/shim/|src/cli/|src/daemon/|test/",
}
SYSTEM_HEADERS = set(
    """ctype.h dirent.h dlfcn.h errno.h fcntl.h float.h getopt.h inttypes.h langinfo.h libgen.h
    limits.h locale.h malloc.h math.h poll.h pthread.h sched.h stdalign.h stdarg.h stdatomic.h
    stdbool.h
    stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h strings.h sys/file.h sys/random.h
    sys/resource.h sys/stat.h sys/sysinfo.h sys/syscall.h sys/time.h sys/types.h sys/wait.h
    sys/uio.h syscall.h termios.h time.h unistd.h""".split()
)

# Functions of libc that only some files may call: {name: (where, why)}.
HEAP = (
    "malloc calloc realloc reallocarray free posix_memalign aligned_alloc memalign strdup strndup "
    "asprintf vasprintf getline alloca"
)
JSON_HEAP = "src/json/json_text.c"
MAPPING_FILES = r"src/base/|src/io/(mapping|guard|output_map)\.c"
ENVIRONMENT = r"src/cli/cli_main\.c|src/daemon/[a-z_]*main\.c|src/shim/"
OUTPUT = (
    "printf fprintf vprintf vfprintf dprintf vdprintf puts fputs putchar fputc putc fwrite perror"
)
PROCESS_END = "abort exit _exit _Exit quick_exit"
# A block that is freed twice is our own fault; going on would damage a stranger's memory.
MAY_ABORT = "src/base/memory.c"

# Names that may occur more than once in the tree.
COMMON_NAMES = {"CMakeLists.txt", "README.md", "Makefile", ".gitignore"}

CODE = (".c", ".h", ".inc", ".S", ".cu", ".cuh")
C_LIKE = (".c", ".h", ".inc", ".cu", ".cuh")
SCRIPTS = (".py", ".sh", ".cmake", ".mjs")

# Compiled by the preset gpu alone, which globs them.
NEEDS_CUDA = ("src/gpu/", "test/gpu/card_", "bench/gpu/")

# What other programs wrote and we only keep: no rule of ours applies.
FOREIGN = ("test/data/", "test/daemon/golden/", "test/fuzz/corpus/")


class Source:
    """One file: its path from the root, its lines, and its code without comments and strings."""

    def __init__(self, path, text):
        self.path = path
        self.name = os.path.basename(path)
        self.extension = os.path.splitext(path)[1]
        self.text = text
        self.lines = text.split("\n")
        self.is_c = self.extension in C_LIKE
        self.code = blank_comments_and_strings(text) if self.is_c else ""
        self.code_lines = self.code.split("\n")
        match = re.match(r"src/([a-z0-9_]+)/", path)
        self.layer = match.group(1) if match else None


def blank_comments_and_strings(text):
    """Replaces comments, strings and characters by blanks; every newline stays where it is."""
    pattern = re.compile(
        r"""//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL
    )

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return pattern.sub(blank, text)


def find_words(source, words):
    """(line, word) for each call of one of the space-separated words in the code."""
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(words.split()) + r")\s*\(")
    for number, line in enumerate(source.code_lines, 1):
        for match in pattern.finditer(line):
            yield number, match.group(1)


# ---------------------------------------------------------------------------------------------
# Rules over one file: each yields (line, sentence).
# ---------------------------------------------------------------------------------------------


def rule_spdx(source):
    """The first line names the licence; "#!" and "Generated by" may come before it."""
    licence = "SPDX-License-Identifier: Apache-2.0 OR MIT"
    if source.extension in CODE:
        expected = f"/* {licence} */"
    elif source.extension == ".mjs":
        expected = f"// {licence}"
    elif source.extension in SCRIPTS or source.name in ("CMakeLists.txt", "Makefile"):
        expected = f"# {licence}"
    else:
        return
    skip = source.lines[0].startswith(("#!", "/* Generated by "))
    if source.lines[1:2] != [expected] if skip else source.lines[0] != expected:
        yield 1, "the first line must be: " + expected


def rule_columns(source):
    """No line is longer than 100 columns."""
    if source.extension not in CODE + SCRIPTS and source.name != "CMakeLists.txt":
        return
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns, at most {COLUMNS}"


def rule_whitespace(source):
    """No tabs in C, no blanks at the end of a line, one newline at the end of the file."""
    for number, line in enumerate(source.lines, 1):
        if source.extension in CODE + SCRIPTS and "\t" in line:
            yield number, "a tab; this tree indents with blanks"
        if line != line.rstrip() and source.extension != ".md":
            yield number, "blanks at the end of the line"
    if source.text and not source.text.endswith("\n"):
        yield len(source.lines), "no newline at the end of the file"
    elif source.text.endswith("\n\n"):
        yield len(source.lines), "empty lines at the end of the file"


def rule_markers(source):
    """Nothing is left for later in the source."""
    if source.extension not in CODE + SCRIPTS and source.name != "CMakeLists.txt":
        return
    pattern = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    for number, line in enumerate(source.lines, 1):
        match = pattern.search(line)
        if match:
            yield number, f"{match.group(1)}: finish it, or open an issue"


def rule_machine_paths(source):
    """No file names a folder of the machine it was written on."""
    pattern = re.compile(r"(?<![\w.$}])/(wo" r"rk|ho" r"me|ro" r"ot)/")
    for number, line in enumerate(source.lines, 1):
        match = pattern.search(line)
        if match:
            yield number, f"{match.group(0)}: a path of one machine"


def include_lines(source):
    """(line, kind, target) for each #include: kind is '<' or '"'."""
    for number, line in enumerate(source.lines, 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1), match.group(2)


def rule_layers(source):
    """Includes follow the table of layers."""
    if not source.is_c:
        return
    for number, kind, target in include_lines(source):
        top = target.split("/")[0]
        if kind == '"' and ("/" not in target or top == ".."):
            if source.layer:
                yield number, f'"{target}": name the layer, as in "base/status.h"'
        elif kind == '"' and source.path.startswith("examples/"):
            yield number, f'"{target}": an example includes <proofmill/...> alone'
        elif kind == '"' and source.layer and top != source.layer:
            if source.layer not in LAYERS:
                yield number, f"src/{source.layer} is not in the table of layers (tools/lint.py)"
            elif top == "tiny" and source.name.endswith("_instance.inc"):
                continue  # the tests' curve, on the include path of tests alone
            elif top not in LAYERS[source.layer]:
                yield number, f"src/{source.layer} may not include src/{top}"
        elif kind == "<" and not top == "proofmill":
            yield from check_system_header(source, number, target)


def check_system_header(source, number, target):
    """A guest in its place, or a header of libc that everybody may use."""
    for guest, where in GUESTS.items():
        if re.fullmatch(guest, target):
            if not re.match(where, source.path):
                yield number, f"<{target}> belongs under {where.replace('|', ' or ')}"
            return
    if target == "assert.h" and source.path.startswith("src/"):
        yield number, "<assert.h>: an input is answered with a status, never with an assert"
    elif target not in SYSTEM_HEADERS and not source.path.startswith(("test/", "bench/")):
        yield number, f"<{target}> is not among the system headers we use (tools/lint.py)"


def rule_instance_bodies(source):
    """A .inc is a template body: only instance units and other bodies include it."""
    if not source.is_c or source.extension == ".inc":
        return
    # Tests of the tiny curve are instances too.
    if source.name.endswith(("_instance.c", "_instance.cu", "_tiny.c")):
        return
    for number, _, target in include_lines(source):
        if target.endswith(".inc"):
            yield number, f"{target} is for *_instance.c units alone"


def rule_environment(source):
    """The environment is read in the mains and the shims."""
    if source.layer is None or not source.is_c:
        return
    if not re.match(ENVIRONMENT, source.path):
        for number, word in find_words(source, "getenv secure_getenv"):
            yield number, f"{word}: only mains and shims read the environment; pass it in"
    for number, word in find_words(source, "setenv putenv unsetenv clearenv setlocale"):
        if not (word == "setlocale" and source.layer in ("cli", "daemon")):
            yield number, f"{word} changes the state of the whole process"


def rule_heap(source):
    """Memory comes from base/memory.h."""
    if source.layer not in LIBRARY_LAYERS or not source.is_c:
        return
    # A shim stands on the public interface, which lends no memory.
    if source.layer not in ("base", "shim") and source.path != JSON_HEAP:
        for number, word in find_words(source, HEAP):
            yield number, f"{word}: memory comes from base/memory.h"
    if not re.match(MAPPING_FILES, source.path):
        for number, word in find_words(source, "mmap mremap munmap"):
            yield number, f"{word}: files are mapped by io/mapping.h"


def rule_silence(source):
    """A library prints nothing and does not end the process."""
    if source.layer not in LIBRARY_LAYERS or not source.is_c:
        return
    for number, word in find_words(source, OUTPUT):
        yield number, f"{word}: a library does not print; use the error object or pm_control"
    for number, line in enumerate(source.code_lines, 1):
        if re.search(r"\b(stdout|stderr)\b", line):
            yield number, "stdout and stderr belong to programs"
    for number, word in find_words(source, PROCESS_END):
        if not (word == "abort" and source.path == MAY_ABORT):
            yield number, f"{word}: a library returns a status"


def rule_assert(source):
    """Nothing is checked by assert: under NDEBUG it is gone."""
    if source.layer is None or not source.is_c:
        return
    for number, word in find_words(source, "assert"):
        yield number, f"{word}: return a status (_Static_assert is fine)"


def rule_guard(source):
    """The include guard of src/LAYER/NAME.h is PM_LAYER_NAME_H (of LAYER_NAME.h too)."""
    if source.layer is None or source.extension != ".h":
        return
    stem = re.sub(r"[^A-Za-z0-9]", "_", source.name[: -len(".h")])
    guard = f"PM_{source.layer}_{stem}_H".upper()
    short = f"PM_{stem}_H".upper() if stem.startswith(source.layer + "_") else guard
    for name in (guard, short):
        if f"#ifndef {name}\n#define {name}\n" in source.text:
            return
    yield 1, f"the include guard must be {guard}"


def without_directives(code):
    """Blanks preprocessor lines with their continuations, so that braces of macros do not count."""
    lines = code.split("\n")
    inside = False
    for index, line in enumerate(lines):
        directive = inside or re.match(r"\s*#", line)
        inside = bool(directive) and line.endswith("\\")
        if directive:
            lines[index] = ""
    return "\n".join(lines)


def functions(code):
    """(first line, number of lines) of each brace pair at depth 0 that follows a parenthesis."""
    code = re.sub(r"\bextern\s+(\"C\"|   )\s*\{", lambda m: " " * len(m.group(0)), code)
    depth, line, before, start = 0, 1, "", 0
    for character in code:
        if character == "\n":
            line += 1
        elif character == "{":
            if depth == 0:
                start = line if before == ")" else 0
            depth += 1
        elif character == "}":
            depth = max(depth - 1, 0)
            if depth == 0 and start:
                yield start, line - start + 1
                start = 0
        if not character.isspace():
            before = character


def rule_function_length(source):
    """A function fits a screen; what a generator unrolls is read in the generator."""
    if not source.is_c or source.lines[0].startswith("/* Generated by "):
        return
    for start, length in functions(without_directives(source.code)):
        if length > FUNCTION_LINES:
            yield start, f"a function of {length} lines, at most {FUNCTION_LINES}"


FILE_RULES = [
    rule_spdx,
    rule_columns,
    rule_whitespace,
    rule_markers,
    rule_machine_paths,
    rule_layers,
    rule_instance_bodies,
    rule_environment,
    rule_heap,
    rule_silence,
    rule_assert,
    rule_guard,
    rule_function_length,
]

# ---------------------------------------------------------------------------------------------
# Rules over the tree: each yields (path, line, sentence).
# ---------------------------------------------------------------------------------------------


def rule_unique_names(sources, _compiled):
    """A file is found by its name alone."""
    seen = {}
    for source in sources:
        if source.name in COMMON_NAMES:
            continue
        if source.name in seen:
            yield source.path, 1, f"the name is taken by {seen[source.name]}"
        seen.setdefault(source.name, source.path)


def rule_compiled(sources, compiled):
    """Every C file is part of the build."""
    if compiled is None:
        return
    for source in sources:
        if source.extension != ".c" or source.path.startswith(("lab/", "test/fuzz/") + NEEDS_CUDA):
            continue
        if source.path not in compiled:
            yield source.path, 1, "not in compile_commands.json: nothing builds it"


TREE_RULES = [rule_unique_names, rule_compiled]


def rule_name(rule):
    return rule.__name__[len("rule_"):].replace("_", "-")


def findings(sources, compiled=None):
    """All findings as (path, line, rule name, sentence), in the order of the files."""
    found = []
    for source in sources:
        for rule in FILE_RULES:
            for line, sentence in rule(source):
                found.append((source.path, line, rule_name(rule), sentence))
    for rule in TREE_RULES:
        for path, line, sentence in rule(sources, compiled):
            found.append((path, line, rule_name(rule), sentence))
    return found


def read_sources(root):
    """Every text file that git tracks or would track."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True,
    ).stdout.decode()
    sources = []
    for path in sorted(set(listing.split("\0")) - {""}):
        full = os.path.join(root, path)
        if path.startswith(FOREIGN) or os.path.islink(full) or not os.path.isfile(full):
            continue
        with open(full, "rb") as stream:
            data = stream.read()
        if b"\0" in data:
            continue
        sources.append(Source(path, data.decode("utf-8")))
    return sources


def read_compiled(root, build):
    """Paths, from the root, of what the build compiles; symbolic links are followed."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
        commands = json.load(stream)
    real_root = os.path.realpath(root)
    return {os.path.relpath(os.path.realpath(c["file"]), real_root) for c in commands}


def main(arguments):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    compiled = None
    if len(arguments) == 2 and arguments[0] == "--build":
        compiled = read_compiled(root, arguments[1])
    elif arguments:
        print(__doc__, file=sys.stderr)
        return 2
    sources = read_sources(root)
    found = findings(sources, compiled)
    for path, line, rule, sentence in found:
        print(f"{path}:{line}: {rule}: {sentence}")
    count = len(FILE_RULES) + len(TREE_RULES)
    print(f"lint: {len(sources)} files, {count} rules, {len(found)} findings", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
