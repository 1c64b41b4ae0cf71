"""A memory control group for one run, of either version; only root can make one."""

import contextlib
import os
import pathlib

V1 = pathlib.Path("/sys/fs/cgroup/memory")
V2 = pathlib.Path("/sys/fs/cgroup")


class NoGroups(Exception):
    """No control group can be made here."""


class Group:
    def __init__(self, name, limit_bytes):
        self.version = 1 if (V1 / "memory.limit_in_bytes").exists() else 2
        self.path = (V1 if self.version == 1 else V2) / name
        try:
            self.path.mkdir()
        except OSError as error:
            raise NoGroups(f"cannot make the control group {self.path}: {error.strerror}; run it as root") from error
        try:
            self._write("memory.limit_in_bytes" if self.version == 1 else "memory.max", limit_bytes)
        except OSError as error:
            self.remove()
            raise NoGroups(f"{self.path} takes no limit: {error.strerror}") from error
        # Without swap a limit is a limit; a machine without swap accounting has no such file.
        with contextlib.suppress(OSError):
            if self.version == 1:
                self._write("memory.memsw.limit_in_bytes", limit_bytes)
            else:
                self._write("memory.swap.max", 0)

    def _write(self, name, value):
        (self.path / name).write_text(str(value))

    def enter(self):
        """In the child, before exec."""
        self._write("cgroup.procs", os.getpid())

    def peak_bytes(self):
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        try:
            return int((self.path / name).read_text())
        except OSError:
            return None

    def kills(self):
        """Processes that the kernel killed in this group for want of memory."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        for line in (self.path / name).read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return int(value)
        return 0

    def remove(self):
        with contextlib.suppress(OSError):
            self.path.rmdir()
