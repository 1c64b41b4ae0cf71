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

    def options(self):
        return ["--allocator", self.allocator, *(["--conf", self.conf] if self.conf else [])]


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
