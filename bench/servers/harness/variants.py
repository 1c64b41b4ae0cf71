"""The allocators that are compared, as `ebb run` is told of them."""

import os
from dataclasses import dataclass, field

TUNED = "narenas:2,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0"


@dataclass
class Variant:
    name: str
    allocator: str
    conf: str = ""
    package: str = ""
    environment: dict = field(default_factory=dict)

    def options(self, server):
        allocator = self.allocator
        # A server that links libjemalloc is served by glibc only when libc comes first in its search order.
        if allocator == "glibc" and server.links_jemalloc:
            allocator = libc_path()
        return ["--allocator", allocator, *(["--conf", self.conf] if self.conf else [])]


def libc_path():
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if os.path.basename(path).startswith("libc.so"):
                return path
    raise OSError("the C library is not in /proc/self/maps")


EVERY = {
    variant.name: variant
    for variant in (
        Variant("glibc", "glibc", package="libc6"),
        Variant(
            "glibc-mmap64k", "glibc", package="libc6", environment={"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=65536"}
        ),
        Variant("jemalloc", "jemalloc", package="libjemalloc2"),
        Variant("jemalloc-tuned", "jemalloc", TUNED, "libjemalloc2"),
        Variant("mimalloc", "mimalloc", package="libmimalloc2.0"),
        Variant("tcmalloc", "tcmalloc", package="libtcmalloc-minimal4"),
        Variant("ebb", "ebb"),
        Variant("ebb-keeps", "ebb", "purge:0"),
    )
}
DEFAULT = [name for name in EVERY if name not in ("glibc-mmap64k", "ebb-keeps")]


def parse(text):
    """Names with commas between; NAME=LIBRARY or NAME=LIBRARY:CONF is any other library."""
    variants = []
    for word in text.split(","):
        name, is_path, rest = word.partition("=")
        if is_path:
            path, _, conf = rest.partition(":")
            variants.append(Variant(name, os.path.realpath(path), package=path, environment={"EBB_CONF": conf} if conf else {}))
        elif name in EVERY:
            variants.append(EVERY[name])
        else:
            raise ValueError(f"--under does not know {name}; it knows {', '.join(EVERY)}, and NAME=LIBRARY")
    return variants
