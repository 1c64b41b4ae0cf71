#!/usr/bin/python3
"""detect.py: whose malloc does a program use, and how do we know?

    detect.py [--library PATH] PID     a running process
    detect.py [--library PATH] FILE    a program, before it runs

Prints one line, `verdict: how it was detected`, and exits 0 when a preload serves (or would
serve) the program, 1 when it does not, 2 when that cannot be known.

Verdicts:
  served-by-preload   the library is mapped and no object before it defines malloc
  would-serve         FILE: dynamic, of this machine's kind, not privileged, malloc left to libraries
  static              no program interpreter: there is no dynamic linker to read LD_PRELOAD
  secure              set-user-ID, set-group-ID or file capabilities: the dynamic linker ignores the preload
  own-malloc          the program itself defines malloc and its definition comes first
  own-malloc-hidden   it carries a malloc of its own that is bound inside it: the preload serves its libraries only
  other-libc          its interpreter is not glibc's
  other-machine       its ELF class or machine is not the library's
  not-mapped          the process runs without the library
  not-bound           the library is mapped, but its malloc is not one that programs look for
  unknown             the process or file could not be read

After the verdict, `; also ...` names second allocators: allocator libraries that are mapped beside
ours, and prefixed ones (je_malloc, mi_malloc, ...) that some object exports for itself.

Reads /proc and ELF files only; changes nothing.
"""

import os
import re
import stat
import struct
import sys

ALLOCATOR_LIBRARIES = re.compile(r"/lib(jemalloc|mimalloc|tcmalloc|hoard|rpmalloc|snmalloc|scudo)[^/]*\.so[^/]*$")
PREFIXED_MALLOC = re.compile(r"^(\w*?(?:je|mi|tc|rp|sn|scudo)_)malloc$")
SHT_SYMTAB, SHT_DYNSYM, SHT_VERSYM = 2, 11, 0x6FFFFFFF
PT_INTERP = 3
AT_SECURE = 23


class Elf:
    """The few parts of a 64-bit little-endian ELF file that the verdicts need."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:4] != b"\x7fELF":
            raise ValueError("not an ELF file")
        self.wide = self.data[4] == 2
        self.machine = struct.unpack_from("<H", self.data, 18)[0]
        self.interpreter = None
        self.symbols = {SHT_DYNSYM: {}, SHT_SYMTAB: {}}
        self.versioned = set()
        if self.wide:
            self._read_segments()
            self._read_sections()

    def _read_segments(self):
        offset, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        for index in range(count):
            at = offset + index * size
            kind, _, where, _, _, length = struct.unpack_from("<IIQQQQ", self.data, at)
            if kind == PT_INTERP:
                self.interpreter = self.data[where:where + length].rstrip(b"\0").decode()

    def _read_sections(self):
        offset, = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size) for i in range(count if offset else 0)]
        versions = [header[4] for header in headers if header[1] == SHT_VERSYM]
        for header in headers:
            kind, where, length, link = header[1], header[4], header[5], header[6]
            if kind in self.symbols:
                self._read_symbols(kind, where, length, headers[link][4])
                if kind == SHT_DYNSYM and versions:
                    self._read_versions(where, length, headers[link][4], versions[0])

    def _text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode("latin-1")

    def _read_versions(self, where, length, strings, versions):
        """Names whose definition carries a version: index 0 and 1 of the table mean none."""
        for index in range(length // 24):
            name, _, _, section, _, _ = struct.unpack_from("<IBBHQQ", self.data, where + index * 24)
            version, = struct.unpack_from("<H", self.data, versions + index * 2)
            if section != 0 and version & 0x7FFF > 1:
                self.versioned.add(self._text(strings + name))

    def _read_symbols(self, kind, where, length, strings):
        for at in range(where, where + length, 24):
            name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", self.data, at)
            if info & 15 in (1, 2, 10) or section == 0:
                text = self._text(strings + name).split("@")[0]
                if text:
                    self.symbols[kind][text] = self.symbols[kind].get(text, False) or section != 0

    def exports(self, name):
        return self.symbols[SHT_DYNSYM].get(name) is True

    def imports(self, name):
        return self.symbols[SHT_DYNSYM].get(name) is False

    def defines_privately(self, name):
        return self.symbols[SHT_SYMTAB].get(name) is True and not self.exports(name)

    def prefixed_malloc(self):
        found = set()
        for table in self.symbols.values():
            found.update(n for n, defined in table.items() if defined and PREFIXED_MALLOC.match(n))
        return sorted(found)


def own_machine():
    return Elf(os.path.realpath("/proc/self/exe")).machine


def judge_file(path):
    """The verdict a file alone allows, or None when nothing stands against the preload."""
    elf = Elf(path)
    if not elf.wide or elf.machine != own_machine():
        return "other-machine: ELF class %d, machine %d" % (2 if elf.wide else 1, elf.machine)
    if elf.interpreter is None:
        return "static: no program interpreter (PT_INTERP) in %s" % path
    if "ld-linux" not in elf.interpreter and "/ld64" not in elf.interpreter:
        return "other-libc: program interpreter is %s" % elf.interpreter
    mode = os.stat(path).st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID):
        return "secure: %s bit on %s" % ("set-user-ID" if mode & stat.S_ISUID else "set-group-ID", path)
    try:
        os.getxattr(path, "security.capability")
        return "secure: file capabilities on %s" % path
    except OSError:
        pass
    if elf.exports("malloc"):
        return "own-malloc: %s exports malloc (symbol lookup finds the program first)" % path
    if elf.defines_privately("malloc"):
        return "own-malloc-hidden: %s has malloc in .symtab and does not export it" % path
    return None


def mapped_files(pid):
    files = []
    with open("/proc/%s/maps" % pid) as maps:
        for line in maps:
            fields = line.rstrip("\n").split(None, 5)
            if len(fields) == 6 and fields[5].startswith("/") and "x" in fields[1]:
                files.append(fields[5].removesuffix(" (deleted)"))
    return files


def is_secure(pid):
    with open("/proc/%s/auxv" % pid, "rb") as file:
        data = file.read()
    for key, value in struct.iter_unpack("<QQ", data[:len(data) // 16 * 16]):
        if key == AT_SECURE:
            return value != 0
    return False


def second_allocators(files, library):
    found = []
    for path in sorted(set(files)):
        if path == library:
            continue
        if ALLOCATOR_LIBRARIES.search(path):
            found.append("%s is mapped beside it" % path)
            continue
        try:
            names = Elf(path).prefixed_malloc()
        except (OSError, ValueError, struct.error):
            continue
        found.extend("%s has %s of its own" % (path, name) for name in names)
    return found


def judge_process(pid, library):
    files = mapped_files(pid)
    program = "/proc/%s/exe" % pid
    against = judge_file(program)
    name = os.readlink(program)
    if against and not against.startswith("secure"):
        return against.replace(program, name), files
    if library not in files:
        if is_secure(pid):
            return "secure: AT_SECURE is set in the auxiliary vector of %s" % name, files
        return "not-mapped: %s is not among the executable mappings of %s" % (library, name), files
    ours = Elf(library)
    if not ours.exports("malloc") or "malloc" in ours.versioned:
        return "not-bound: %s has no malloc without a version" % library, files
    imported = "imports" if Elf(program).imports("malloc") else "does not import"
    return "served-by-preload: %s is mapped, %s %s malloc and does not define it" % (library, name, imported), files


def main(arguments):
    library = ""
    if arguments[:1] == ["--library"]:
        library, arguments = os.path.realpath(arguments[1]), arguments[2:]
    target, = arguments
    files = []
    try:
        if target.isdigit():
            verdict, files = judge_process(target, library)
        else:
            verdict = judge_file(target) or "would-serve: dynamic, not privileged, malloc left to the libraries"
            files = [target]
    except (OSError, ValueError) as error:
        print("unknown: %s" % error)
        return 2
    also = second_allocators(files, library)
    print("; also ".join([verdict] + also))
    return 0 if verdict.startswith(("served", "would")) else 1


sys.exit(main(sys.argv[1:]))
