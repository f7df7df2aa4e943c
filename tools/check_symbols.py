#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the libraries export and what state they keep.

    tools/check_symbols.py HEADER... MAP SHARED_LIBRARY STATIC_LIBRARY

  - the PM_API (PM_..._API) declarations of the HEADERs, the names in the version script MAP and the
    dynamic symbols that SHARED_LIBRARY defines are one and the same set, and the version node is on
    each of them;
  - a name of STATIC_LIBRARY that other objects can see begins with pm_ or is in MAP, so that it
    cannot meet a name of the program it is linked into;
  - STATIC_LIBRARY has no writable variable besides those in STATE: nothing is shared between
    contexts behind the caller's back.

Prints each difference; the exit status is 1 if there is any.
"""
import re
import subprocess
import sys

# Objects that may hold writable variables, each with the reason.
STATE = {
    "api_device.c.o": "the cards that are open, and the queues before them: the process's own",
    "cpu.c.o": "what the CPU can run, asked once",
    "guard.c.o": "the SIGBUS handler that pm_guard_install() installs for the whole process",
    "supraseal_engine.c.o": "the context of all handles, which the interface has no object for",
    "supraseal_prove.c.o": "whose turn it is on the devices, for calls that name no mutex",
    "supraseal_record.c.o": "a number for each file's name",
    "supraseal_srs.c.o": "the interface's cache of parameter files",
    "json_memory.c.o": "the allocator that jansson had, and what has failed in this thread",
}


def declared(header_text):
    """Names of the functions that the header declares with PM_API or PM_..._API."""
    text = re.sub(r"/\*.*?\*/", " ", header_text, flags=re.DOTALL)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.MULTILINE)
    declarations = re.findall(r"\bPM_(?:[A-Z]+_)?API\b([^;]*);", text)
    return {re.search(r"(\w+)\s*\(", declaration).group(1) for declaration in declarations}


def mapped(map_text):
    """(version node, names) of a version script with one node and no wildcard but local: *."""
    text = re.sub(r"/\*.*?\*/|#[^\n]*", " ", map_text, flags=re.DOTALL)
    match = re.fullmatch(r"\s*(\w+(?:\.\w+)*)\s*\{\s*global:(.*?)local:\s*\*;\s*\};\s*", text, re.S)
    if match is None:
        sys.exit("the version script does not have the form: NODE { global: names; local: *; };")
    return match.group(1), set(re.findall(r"[\w*?]+", match.group(2)))


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    """{name: version} of the dynamic symbols that the library defines."""
    names = {}
    listing = run("nm", "--dynamic", "--defined-only", "--with-symbol-versions", library)
    for line in listing.split("\n"):
        fields = line.split()
        if len(fields) == 3 and fields[1] != "A":
            name, _, version = fields[2].partition("@")
            names[name] = version.lstrip("@")
    return names


def static_symbols(library):
    """(object, section, is global, name) of each symbol that is defined in the archive."""
    member = ""
    for line in run("objdump", "-t", library).split("\n"):
        if ":     file format" in line:
            member = line.split(":")[0]
        match = re.match(r"[0-9a-f]{16} (.)(......) (\S+)\s+[0-9a-f]+ (?:\.hidden )?(\S+)$", line)
        if match and match.group(3) != "*UND*" and "d" not in match.group(2):
            yield member, match.group(3), match.group(1) in "gu!", match.group(4)


def differences(header_names, map_names, node, library_names):
    for name in sorted(header_names - map_names):
        yield f"{name}: declared with PM_API, missing in the version script"
    for name in sorted(map_names - header_names):
        yield f"{name}: in the version script, not declared with PM_API"
    for name in sorted(map_names - set(library_names)):
        yield f"{name}: in the version script, not exported by the library"
    for name, version in sorted(library_names.items()):
        if name not in map_names:
            yield f"{name}: exported by the library, not in the version script"
        elif version != node:
            yield f"{name}: exported with version '{version}' instead of '{node}'"


def static_faults(symbols, map_names):
    for member, section, is_global, name in symbols:
        if is_global and not name.startswith("pm_") and name not in map_names:
            yield f"{name} ({member}): a global name that does not begin with pm_"
        writable = re.match(r"\.(data|bss|tdata|tbss)(?!\.rel\.ro)|\*COM\*", section)
        if writable and not name.startswith(".") and member not in STATE:
            yield f"{name} ({member}): a writable variable in {section}"


def main(arguments):
    if len(arguments) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    *headers, script, shared, static = arguments
    header_names = set()
    for header in headers:
        with open(header, encoding="utf-8") as stream:
            header_names |= declared(stream.read())
    with open(script, encoding="utf-8") as stream:
        node, map_names = mapped(stream.read())
    faults = [
        *differences(header_names, map_names, node, exported(shared)),
        *static_faults(static_symbols(static), map_names),
    ]
    for fault in faults:
        print(fault)
    print(f"symbols: {len(header_names)} declared, {len(faults)} faults", file=sys.stderr)
    return 1 if faults or not header_names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
