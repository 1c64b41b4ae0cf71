"""env: the lines that put a service under Ebb, run or verified; env --check: what is said of processes and units."""

import os
import pathlib
import re
import subprocess
import time

from lib import LIB, check, document, ebb, environment, expect, free_port, program, temporary

LIBRARY = os.path.realpath(LIB / "libebb.so")


class Running:
    """A process that runs for a while."""

    def __init__(self, *words, **env):
        self.process = subprocess.Popen(words, env=environment(**env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def server(**env):
    """The test server once it listens: past its loader, with figures published."""
    port = free_port()
    running = Running(program("server"), str(port), "hold=20", **env)
    for _ in range(200):
        if subprocess.run(["curl", "-sf", f"http://127.0.0.1:{port}/burst?20"], capture_output=True).returncode == 0:
            return running
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def wait_check(pid, *arguments, until, env=None):
    """Figures are published at the first look of the library: asks until they are there."""
    for _ in range(100):
        outcome = ebb("env", "--check", str(pid), *arguments, env=env)
        if re.search(until, outcome.out, re.M):
            break
        time.sleep(0.05)
    return outcome


def fake_systemctl(directory, properties, code=0):
    path = pathlib.Path(directory) / "systemctl"
    lines = "".join(f"echo '{line}'\n" for line in properties)
    path.write_text(f"#!/bin/sh\necho \"$*\" >{directory}/asked\n{lines}exit {code}\n")
    path.chmod(0o755)
    return environment(PATH=f"{directory}:{os.environ['PATH']}")


def env_shell_lines_work():
    for shell in "sh", "bash":
        lines = expect(ebb("env", "--budget", "64M", "--conf", "delay:500ms"), code=0, err_lines=0).out
        expect(ebb("env", "--sh", "--budget", "64M", "--conf", "delay:500ms"), code=0, out=re.escape(lines))
        script = lines + 'printf "%s|%s|" "$LD_PRELOAD" "$EBB_CONF"; exec cat /proc/self/maps'
        for before in "", "/lib/x86_64-linux-gnu/libm.so.6":
            if before and not os.path.exists(before):
                continue
            env = environment(LD_PRELOAD=before) if before else environment()
            out = subprocess.run([shell, "-u", "-c", script], env=env, capture_output=True, text=True)
            check(out.returncode == 0 and out.stderr == "", f"{out.stderr}")
            preload, conf, maps = out.stdout.split("|", 2)
            check(preload == LIBRARY + (":" + before if before else ""), preload)
            check(conf == "budget:64M,delay:500ms", conf)
            check("libebb.so" in maps, "the library was not loaded")


def env_systemd_is_verified():
    with temporary() as directory:
        unit = pathlib.Path(directory) / "tried.service"
        unit.write_text("[Service]\nExecStart=/bin/true\n")
        dropin = pathlib.Path(directory) / "tried.service.d"
        dropin.mkdir()
        text = expect(ebb("env", "--unit", "tried", "--budget", "50%", env=environment(PATH="/nonexistent")), code=0,
                      err_lines=0).out
        expect(ebb("env", "--systemd"), code=0, out=r"^# Puts NAME\.service under Ebb\.")
        check(f"\n[Service]\nEnvironment=LD_PRELOAD={LIBRARY}\nEnvironment=EBB_CONF=budget:50%%\n" in text, text)
        check("/etc/systemd/system/tried.service.d/ebb.conf" in text, text)
        env = environment(SYSTEMD_UNIT_PATH=directory + ":")
        for content, sound in (text, True), (text.replace("Environment=EBB", "Enviroment=EBB"), False):
            (dropin / "ebb.conf").write_text(content)
            process = subprocess.run(["systemd-analyze", "verify", "--man=no", "tried.service"], env=env, capture_output=True,
                                     text=True)
            check((str(dropin) in process.stderr) != sound, f"{process}")
            check(process.returncode == 0 or not sound, f"{process}")


def env_systemd_names_what_is_in_the_way():
    with temporary() as directory:
        env = fake_systemctl(directory, ["LoadState=loaded", "RootDirectory=/srv/jail", "PrivateTmp=yes", "ProtectHome=no",
                                         "UnsetEnvironment=LD_PRELOAD", "Environment=LD_PRELOAD=/x.so A=b"])
        outcome = expect(ebb("env", "--unit", "tried", env=env), code=0, err_lines=0)
        for what in "RootDirectory=", "UnsetEnvironment=", "LD_PRELOAD is set already":
            expect(outcome, out=rf"^# IN THE WAY: {what}")
        check("PrivateTmp= hides" not in outcome.out or LIBRARY.startswith("/tmp/"), f"{outcome}")
        check("tried.service" in open(f"{directory}/asked").read(), "the unit was not asked for")


def env_docker_lines_are_instructions():
    text = expect(ebb("env", "--docker", "--budget", "auto"), code=0, err_lines=0).out
    instructions = [line.split()[0] for line in text.splitlines() if not line.startswith("#")]
    check(instructions == ["COPY", "RUN", "ENV", "ENV"], f"{instructions}")
    check("\nENV EBB_CONF=budget:auto\n" in text, text)
    # The check of the build, run here: it takes the real library and ends over something else.
    line = re.search(r"^RUN (.*)$", text, re.M).group(1)
    with temporary() as directory:
        other = pathlib.Path(directory) / "other.so"
        other.write_text("no library")
        for path, code in (LIBRARY, 0), (str(other), 1):
            check(subprocess.run(["sh", "-c", line.replace("/usr/local/lib/libebb.so", path)], env=environment()).returncode == code,
                  f"{path}: {line}")


def env_musl():
    with temporary() as directory:
        source = pathlib.Path(directory) / "a.c"
        source.write_text("int main(void) { return 0; }\n")
        library, musl = f"{directory}/libebb.so", f"{directory}/program"
        subprocess.run(["musl-gcc", "-shared", "-fPIC", "-o", library, str(source)], check=True)
        subprocess.run(["musl-gcc", "-o", musl, str(source)], check=True)
        outcome = expect(ebb("env", "--docker", "--libc", "musl", "--library", library), code=0)
        expect(outcome, out=r"\A# For an image on musl, such as Alpine")
        expect(ebb("env", "--for", musl, "--library", library), code=0, out=rf"^export LD_PRELOAD={library}")
        expect(ebb("env", "--for", musl, "--library", LIBRARY), code=3, out=r"\A\Z", err_lines=1,
               err=r"it was built for glibc, and musl is wanted")
        expect(ebb("env", "--library", library), code=3, out=r"\A\Z", err=r"it was built for musl, and glibc is wanted", err_lines=1)
        if not any(os.path.exists(p) for p in ("/usr/local/lib/musl/libebb.so", "/usr/lib/musl/lib/libebb.so")):
            expect(ebb("env", "--for", musl), code=3, out=r"\A\Z", err=r"no libebb\.so for musl here.*--library build/musl", err_lines=1)


def env_refuses_what_no_preload_reaches():
    expect(ebb("env", "--for", program("touch-static")), code=3, out=r"\A\Z", err=r"statically linked.*libebb\.a", err_lines=1)
    expect(ebb("env", "--for", "su"), code=3, out=r"\A\Z", err=r"set-user-ID", err_lines=1)
    expect(ebb("env", "--for", "no-such-program"), code=3, out=r"\A\Z", err=r"not found", err_lines=1)
    expect(ebb("env", "--for", "4194305"), code=3, out=r"\A\Z", err=r"no such process", err_lines=1)
    expect(ebb("env", "--for", str(os.getpid())), code=0, out=r"^export LD_PRELOAD=")


def env_usage():
    for arguments, wanted in (
        (["x"], r"what is x\?"), (["--sh", "--docker"], r"exclude each other"), (["--unit", "a b"], r"'a b' is no process"),
        (["--unit", "a", "--docker"], r"goes with --systemd"), (["--budget", "lots"], r"write a size of 1M or more"),
        (["--budget", "256 MiB"], r"write a size"), (["--budget", "0%"], r"write a size"), (["--conf", "delay"], r"write KEY:VALUE"),
        (["--conf", "a:$(id)"], r"write KEY:VALUE"), (["--conf", "a:b c"], r"write KEY:VALUE"), (["--conf", "a:b\nc:d"], r"write KEY:VALUE"),
        (["--libc", "bionic"], r"write glibc or musl"), (["--libc", "musl", "--for", "sh"], r"exclude each other"),
        (["--check", "-x"], r"no process and no service"), (["--check", "a/b"], r"no process and no service"),
    ):
        expect(ebb("env", *arguments), code=2, out=r"\A\Z", err=rf"\Aebb: .*{wanted}", err_lines=1)


def env_json():
    result = document(expect(ebb("env", "--json", "--budget", "1G"), code=0))
    check(result == {"schema": "ebb.env/1", "libc": "glibc", "library": LIBRARY, "unit": None, "in_the_way": [],
                     "environment": {"LD_PRELOAD": LIBRARY, "EBB_CONF": "budget:1G"}}, f"{result}")


def env_check_under():
    with server(LD_PRELOAD=LIBRARY, EBB_CONF="budget:100M") as pid:
        outcome = expect(wait_check(pid, until=r"^  live"), code=0, err_lines=0)
        expect(outcome, out=rf"\Aserver \({pid}\): under Ebb\n  library      {re.escape(LIBRARY)}\n")
        expect(outcome, out=r"^  budget       100\.0 MiB$")
        expect(outcome, out=r"^  live         \d\d\.\d MiB$")
        result = document(ebb("env", "--check", str(pid), "--json"))
        check(result["under_ebb"] is True and result["budget_bytes"] == 100 << 20 and result["live_bytes"] > 10 << 20, f"{result}")
        check(result["environment"] == {"LD_PRELOAD": LIBRARY, "EBB_CONF": "budget:100M"}, f"{result}")
    with server(LD_PRELOAD=LIBRARY, EBB_CONF="budget:lots") as pid:
        expect(wait_check(pid, until=r"^  live"), code=0, out=r"remedy +EBB_CONF asks for a budget, and none is in force")


def env_check_not_under():
    with server() as pid:
        outcome = expect(ebb("env", "--check", str(pid)), code=1, err_lines=0)
        expect(outcome, out=rf"\Aserver \({pid}\): not under Ebb: LD_PRELOAD is not in its environment\n  remedy ")
        check(document(ebb("env", "--check", str(pid), "--json"))["under_ebb"] is False, "json")
    with server(LD_PRELOAD="/nonexistent/libebb.so") as pid:
        expect(ebb("env", "--check", str(pid)), code=1,
               out=r"not under Ebb: LD_PRELOAD=/nonexistent/libebb\.so was given, and the loader did not take it")
    with Running(program("touch-static"), "1", "9000", LD_PRELOAD=LIBRARY) as pid:
        time.sleep(0.2)
        expect(ebb("env", "--check", str(pid)), code=1, out=r"not under Ebb: the program is statically linked")
    expect(ebb("env", "--check", "4194305"), code=3, out=r"\A\Z", err=r"there is none of that number", err_lines=1)


def env_check_overwritten_environment():
    """redis writes its title over its environment: what is not there says nothing."""
    port = str(free_port())
    with Running("redis-server", "--port", port, "--save", "") as pid:
        for _ in range(100):
            if subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True).stdout == b"PONG\n":
                break
            time.sleep(0.05)
        outcome = expect(ebb("env", "--check", str(pid)), code=1, out=r"not under Ebb: libebb\.so is not in the process, and its env")
        check(document(ebb("env", "--check", str(pid), "--json"))["environment"] is None, f"{outcome}")


def env_check_another_malloc_wins():
    jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    if not os.path.exists(jemalloc):
        jemalloc = "/usr/lib/aarch64-linux-gnu/libjemalloc.so.2"
    with server(LD_PRELOAD=f"{jemalloc}:{LIBRARY}") as pid:
        outcome = expect(ebb("env", "--check", str(pid)), code=1)
        expect(outcome, out=r"not under Ebb: libebb\.so is loaded, but malloc is that of jemalloc, in libjemalloc\.so\.2, which comes first")
    with server(LD_PRELOAD=f"{LIBRARY}:{jemalloc}") as pid:
        outcome = expect(wait_check(pid, until=r"^  live"), code=0)
        expect(outcome, out=r"^  also loaded  jemalloc in libjemalloc\.so\.2$")


def env_check_unit():
    with temporary() as directory, server() as pid:
        loaded = ["LoadState=loaded", f"MainPID={pid}"]
        env = fake_systemctl(directory, loaded)
        outcome = expect(ebb("env", "--check", "tried", env=env), code=1)
        expect(outcome, out=rf"\Aserver \({pid}, tried\.service\): not under Ebb: .*\n  remedy +ebb env --systemd --unit tried\.service")
        env = fake_systemctl(directory, loaded + [f"Environment=LD_PRELOAD={LIBRARY}"])
        expect(ebb("env", "--check", "tried.service", env=env), code=1,
               out=r"the unit has LD_PRELOAD, but its process was started without\n  remedy +sudo systemctl restart tried\.service$")
        env = fake_systemctl(directory, ["LoadState=loaded", "MainPID=0"])
        expect(ebb("env", "--check", "tried", env=env), code=3, err=r"tried\.service does not run", err_lines=1)
        env = fake_systemctl(directory, ["LoadState=not-found", "MainPID=0"])
        expect(ebb("env", "--check", "tried", env=env), code=3, err=r"there is no such service", err_lines=1)
        env = fake_systemctl(directory, [], code=1)
        expect(ebb("env", "--check", "tried", env=env), code=3, err=r"systemctl does not answer here", err_lines=1)
        expect(ebb("env", "--check", "tried", env=environment(PATH="/nonexistent")), code=3, err=r"systemctl does not answer", err_lines=1)


def env_check_what_is_linked_in():
    """libebb.a in the program serves it; another malloc there comes before any preload."""
    with temporary() as directory:
        source = pathlib.Path(directory) / "a.c"
        source.write_text(
            "#include <stdlib.h>\n#include <unistd.h>\n"
            "#ifdef OWN\nstatic _Alignas(16) char heap[1 << 24];\nstatic size_t used;\n"
            "void *malloc(size_t n) { used += (n + 15) / 16 * 16; return heap + used - (n + 15) / 16 * 16; }\n"
            "void free(void *p) { (void)p; }\nvoid *calloc(size_t a, size_t b) { return malloc(a * b); }\n"
            "void *realloc(void *p, size_t n) { (void)p; return malloc(n); }\n#endif\n"
            "int main(void) { volatile char *p = malloc(5 << 20); for (int i = 0; i < 5 << 20; i += 4096) p[i] = 1;\n"
            "for (;;) { free(malloc(2000000)); usleep(10000); } }\n")
        linked, own = f"{directory}/linked", f"{directory}/own"
        subprocess.run(["gcc", "-O0", "-o", linked, str(source), str(LIB / "libebb.a"), "-lpthread"], check=True)
        subprocess.run(["gcc", "-O0", "-fno-builtin", "-DOWN", "-o", own, str(source)], check=True)
        with Running(linked) as pid:
            expect(wait_check(pid, until=r"^  live"), code=0, out=r": under Ebb\n  library +in the program \(libebb\.a\)\n")
        with Running(own, LD_PRELOAD=LIBRARY) as pid:
            time.sleep(0.2)
            expect(ebb("env", "--check", str(pid)), code=1, out=r"libebb\.so is loaded, but malloc is that of .*, in the program itself, which comes first")
