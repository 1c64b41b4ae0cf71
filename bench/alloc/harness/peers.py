"""The allocators that are compared: where each is, what it needs in its environment, which version."""

import os
import pathlib
import subprocess
from dataclasses import dataclass, field

MULTIARCH = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]


class MissingPeer(Exception):
    """A peer that was asked for is not on this machine."""


@dataclass
class Peer:
    name: str
    library: str | None  # the real path of what is preloaded; None for libc's own malloc
    expect: str  # the file that must hold malloc, as /proc/self/maps names it
    version: str
    env: dict = field(default_factory=dict)

    def describe(self):
        settings = " ".join(f"{key}={value}" for key, value in self.env.items())
        return {"name": self.name, "version": self.version, "env": settings}


# name, Debian package, file, environment
DEBIAN = [
    ("jemalloc", "libjemalloc2", "libjemalloc.so.2", {}),
    (
        "jemalloc-tuned",
        "libjemalloc2",
        "libjemalloc.so.2",
        {"MALLOC_CONF": "narenas:2,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0"},
    ),
    ("mimalloc", "libmimalloc2.0", "libmimalloc.so.2.0", {}),
    ("tcmalloc", "libtcmalloc-minimal4", "libtcmalloc_minimal.so.4", {}),
]
DEFAULT = ["glibc", "jemalloc", "jemalloc-tuned", "mimalloc", "tcmalloc", "ebb"]


def package_version(package):
    shown = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False
    )
    return f"{package} {shown.stdout.strip()}" if shown.returncode == 0 else package


def find_library(name):
    for directory in MULTIARCH:
        path = os.path.join(directory, name)
        if os.path.exists(path):
            return os.path.realpath(path)
    return None


def libc_path():
    """The C library this very process runs on, as the kernel names it."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if os.path.basename(path).startswith(("libc.so", "libc-2")):
            return path
    raise MissingPeer("cannot find the C library in /proc/self/maps")


def git_version(root):
    shown = subprocess.run(
        ["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip() or "unknown"


def from_path(name, path, version=None):
    if not os.path.exists(path):
        raise MissingPeer(f"peer {name}: there is no {path}")
    real = os.path.realpath(path)
    return Peer(name, real, real, version or os.path.basename(real))


def known(name, root, ebb_library):
    """A peer by its name in DEFAULT."""
    if name == "glibc":
        return Peer(name, None, libc_path(), package_version("libc6"))
    if name == "ebb":
        if not os.path.exists(ebb_library):
            raise MissingPeer("ebb: libebb.so is not built yet; run `make` first")
        return from_path(name, ebb_library, "git " + git_version(root))
    for known_name, package, file, env in DEBIAN:
        if known_name == name:
            path = find_library(file)
            if path is None:
                raise MissingPeer(f"{name}: install the Debian package {package} (scripts/bootstrap bench does)")
            return Peer(name, path, path, package_version(package), dict(env))
    raise MissingPeer(f"no peer is called {name}; give it as --peer {name}=/path/to/library.so")


def collect(names, extra, settings, root, ebb_library):
    """names: of DEFAULT; extra: NAME=PATH; settings: NAME:VARIABLE=VALUE."""
    peers = [known(name, root, ebb_library) for name in names]
    for item in extra:
        name, _, path = item.partition("=")
        if not name or not path:
            raise MissingPeer(f"--peer {item}: expected NAME=PATH")
        peers.append(from_path(name, path))
    by_name = {peer.name: peer for peer in peers}
    for item in settings:
        name, _, setting = item.partition(":")
        variable, _, value = setting.partition("=")
        if name not in by_name or not variable:
            raise MissingPeer(f"--peer-env {item}: expected PEER:VARIABLE=VALUE of a peer that runs")
        by_name[name].env[variable] = value
    return peers
