"""What a result must carry to be compared with another: machine, kernel, settings, versions."""

import os
import pathlib
import platform
import subprocess
import time


def first_line(path, default="unknown"):
    try:
        return pathlib.Path(path).read_text().splitlines()[0].strip()
    except (OSError, IndexError):
        return default


def field_of(path, key):
    try:
        for line in pathlib.Path(path).read_text().splitlines():
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"


def thp():
    shown = first_line("/sys/kernel/mm/transparent_hugepage/enabled")
    return shown[shown.find("[") + 1 : shown.find("]")] if "[" in shown else shown


def compiler():
    shown = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False)
    return shown.stdout.splitlines()[0] if shown.returncode == 0 and shown.stdout else "unknown"


def memory_available_kib():
    value = field_of("/proc/meminfo", "MemAvailable").split()
    return int(value[0]) if value and value[0].isdigit() else 0


def collect():
    system = platform.freedesktop_os_release() if hasattr(platform, "freedesktop_os_release") else {}
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cpu": field_of("/proc/cpuinfo", "model name"),
        "cpus": len(os.sched_getaffinity(0)),
        "memory": field_of("/proc/meminfo", "MemTotal"),
        "system": system.get("PRETTY_NAME", "unknown"),
        "kernel": platform.release(),
        "page_size": os.sysconf("SC_PAGESIZE"),
        "thp": thp(),
        "overcommit": first_line("/proc/sys/vm/overcommit_memory"),
        "compiler": compiler(),
        "load_before": " ".join(first_line("/proc/loadavg").split()[:3]),
    }
