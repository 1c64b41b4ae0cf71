"""The servers that are measured: how each is prepared, started, found ready and loaded."""

import os
import pathlib
import platform
import pwd
import shlex
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
PYTHON = ["/usr/bin/python3", "-I"]


class CannotRun(Exception):
    """A server that is missing or could not be prepared."""


def run_quietly(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise CannotRun(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-400:]}")


def load_command(name, *arguments):
    """A line for `ebb run --load`."""
    return shlex.join([*PYTHON, str(HERE / "load" / f"{name}.py"), *map(str, arguments)])


class Server:
    """What they have in common. `scratch` is a directory of this run alone; `cache` outlives the runs."""

    name = ""
    packages = ()
    program = ""
    links_jemalloc = False  # an empty one takes its place unless jemalloc shall serve
    ready_timeout = "60s"
    grace = "10s"
    user = None  # when started as root
    aborts_at_end = False  # its own fault, under every allocator: the figures were taken before
    scratch_parent = None  # where its directory is made; None: where temporary files go

    def check(self, cache):
        if not os.access(self.program, os.X_OK):
            raise CannotRun(f"{self.program} is missing: apt-get install {' '.join(self.packages)}")

    def prepare(self, scratch, cache):
        """Whatever must lie there before the server starts."""

    def environment(self, cache):
        return {}

    def command(self, port, scratch):
        raise NotImplementedError

    def ready(self, port):
        return ["--ready-tcp", f"127.0.0.1:{port}"]

    def load(self, port, rest_seconds):
        raise NotImplementedError


class Puma(Server):
    name = "puma"
    packages = ("puma", "ruby")
    program = "/usr/bin/puma"
    ready_timeout = "120s"
    options = ("-C", str(ROOT / "bench/contacts/collect.rb"))
    load_options = ()

    def prepare(self, scratch, cache):
        run_quietly(["/usr/bin/ruby", str(ROOT / "bench/contacts/generate.rb"), str(cache / "contacts")])

    def environment(self, cache):
        return {"CONTACTS_BOOK": str(cache / "contacts")}

    def command(self, port, scratch):
        bind = ["-q", "-t", "5:5", "-w", "0", "-b", f"tcp://127.0.0.1:{port}"]
        return [self.program, *self.options, *bind, str(ROOT / "bench/contacts/config.ru")]

    def ready(self, port):
        return ["--ready-http", f"http://127.0.0.1:{port}/up"]

    def load(self, port, rest_seconds):
        return shlex.join(
            ["/usr/bin/ruby", str(ROOT / "bench/contacts/load.rb"), *self.load_options, f"127.0.0.1:{port}"]
        )


class LazyPuma(Puma):
    """Ruby as it comes: it collects no garbage while it rests."""

    name = "puma-lazy"
    options = ()


class FullPuma(Puma):
    """PROPFIND asks for the cards themselves: 445 MB are sent."""

    name = "puma-full"
    load_options = ("--full",)


class Radicale(Server):
    name = "radicale"
    packages = ("radicale", "python3")
    program = "/usr/bin/radicale"
    cards = 600
    requests = 15

    def prepare(self, scratch, cache):
        run_quietly([*PYTHON, str(HERE / "load/radicale.py"), "--book", str(scratch / "collections"), str(self.cards)])

    def command(self, port, scratch):
        settings = {
            "server-hosts": f"127.0.0.1:{port}",
            "auth-type": "none",
            "storage-filesystem-folder": scratch / "collections",
            "logging-level": "warning",
        }
        return [*PYTHON, self.program, "--config", "", *(f"--{key}={value}" for key, value in settings.items())]

    def load(self, port, rest_seconds):
        return load_command("radicale", port, self.cards, self.requests)


class ClickHouse(Server):
    name = "clickhouse"
    packages = ("clickhouse-server",)
    program = "/usr/sbin/clickhouse-server"
    links_jemalloc = True
    aborts_at_end = True
    seconds = 60

    def prepare(self, scratch, cache):
        (scratch / "users.xml").write_text(
            "<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password/>"
            "<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>"
            "</default></users></yandex>\n"
        )

    def command(self, port, scratch):
        (scratch / "config.xml").write_text(
            f"<yandex><logger><level>error</level><console>1</console></logger><http_port>{port}</http_port>"
            f"<listen_host>127.0.0.1</listen_host><path>{scratch}/data/</path><tmp_path>{scratch}/tmp/</tmp_path>"
            f"<users_config>{scratch}/users.xml</users_config><default_profile>default</default_profile>"
            "<default_database>default</default_database><mark_cache_size>5368709120</mark_cache_size>"
            "<max_concurrent_queries>100</max_concurrent_queries></yandex>\n"
        )
        return [self.program, f"--config-file={scratch}/config.xml"]

    def ready(self, port):
        return ["--ready-http", f"http://127.0.0.1:{port}/"]

    def load(self, port, rest_seconds):
        return load_command("clickhouse", port, self.seconds)


class Redis(Server):
    name = "redis"
    packages = ("redis-server",)
    program = "/usr/bin/redis-server"
    links_jemalloc = True
    keys = 140_000

    def command(self, port, scratch):
        return [self.program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(scratch)]

    def load(self, port, rest_seconds):
        return load_command("redis", port, self.keys)


class PostgreSQL(Server):
    name = "postgresql"
    packages = ("postgresql-15",)
    program = "/usr/lib/postgresql/15/bin/postgres"
    turns = 4

    def __init__(self):
        if os.getuid() == 0:
            self.user = "postgres"
        self.role = self.user or pwd.getpwuid(os.getuid()).pw_name

    def prepare(self, scratch, cache):
        template = cache / "postgresql"
        if not (template / "PG_VERSION").exists():
            shutil.rmtree(template, ignore_errors=True)
            template.mkdir()
            as_user = []
            if self.user:
                shutil.chown(template, self.user)
                as_user = drop_rights(self.user)
            initdb = str(pathlib.Path(self.program).with_name("initdb"))
            run_quietly([*as_user, initdb, "-D", str(template), "-A", "trust", "--no-sync", "-E", "UTF8"], cwd="/")
        run_quietly(["cp", "-a", str(template), str(scratch / "data")])

    def command(self, port, scratch):
        settings = ["fsync=off", "work_mem=32MB", "jit=off", "shared_buffers=16MB", "max_parallel_workers_per_gather=0"]
        options = [word for setting in settings for word in ("-c", setting)]
        return [self.program, "-D", str(scratch / "data"), "-p", str(port), "-h", "127.0.0.1", "-k", "", *options]

    def ready(self, port):
        return ["--ready-log", "database system is ready to accept connections"]

    def load(self, port, rest_seconds):
        # The pool's connections close by themselves shortly after the last figure was taken.
        return load_command("postgres", port, self.role, self.turns, rest_seconds + 1.5)


class Node(Server):
    name = "node"
    packages = ("nodejs",)
    program = "/usr/bin/node"
    requests = 3000

    def command(self, port, scratch):
        return [self.program, str(HERE / "apps/node.js"), str(port)]

    def load(self, port, rest_seconds):
        return load_command("events", port, self.requests, 16)


class Threaded(Server):
    name = "python"
    packages = ("python3", "python3.11")
    program = "/usr/bin/python3"
    requests = 2000

    def command(self, port, scratch):
        return [*PYTHON, str(HERE / "apps/threaded.py"), str(port)]

    def load(self, port, rest_seconds):
        return load_command("events", port, self.requests, 16)


class DuckDB(Server):
    """An events service on DuckDB, whose buffers stay with the jemalloc that its library brings."""

    name = "duckdb"
    packages = ("nodejs", "gcc")
    program = "/usr/bin/npm"
    scratch_parent = "/dev/shm"  # a checkpoint that waits for a disk leaves rows queued, in memory
    version = "1.5.6-r.1"
    module = "@duckdb/node-bindings-linux-" + {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "none")
    flags = ()
    rate = 20000
    seconds = 30
    more_bytes = 0

    def library(self, cache):
        return cache / "npm/node_modules" / self.module / "libduckdb.so"

    def check(self, cache):
        """Debian has no DuckDB: its library is in an npm package."""
        if not self.library(cache).exists():
            super().check(cache)
            wanted = f"{self.module}@{self.version}"
            try:
                run_quietly([self.program, "install", "--no-save", "--prefix", str(cache / "npm"), wanted])
            except CannotRun as error:
                raise CannotRun(f"{self.name} needs the npm package {wanted}, which could not be had: {error}") from error
        run_quietly(["cc", "-O2", *self.flags, "-o", str(cache / self.name), str(HERE / "apps/duckdb.c")])

    def prepare(self, scratch, cache):
        (scratch / "libduckdb.so").symlink_to(self.library(cache))
        (scratch / self.name).symlink_to(cache / self.name)

    def command(self, port, scratch):
        return [str(scratch / self.name), str(scratch / "libduckdb.so"), str(port), str(scratch), str(self.more_bytes)]

    def load(self, port, rest_seconds):
        return load_command("duckdb", port, self.rate, self.seconds)


class WholeDuckDB(DuckDB):
    """All of its memory comes from malloc, the buffers too."""

    name = "duckdb-whole"
    flags = ("-DWHOLE", "-rdynamic")


class LargeDuckDB(WholeDuckDB):
    """Rows that are 1 KB larger."""

    name = "duckdb-large"
    rate = 10000
    more_bytes = 1024


def drop_rights(user):
    return ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--clear-groups"]


EVERY = {
    server.name: server
    for server in (
        Puma(),
        LazyPuma(),
        FullPuma(),
        Radicale(),
        ClickHouse(),
        Redis(),
        PostgreSQL(),
        Node(),
        Threaded(),
        DuckDB(),
        WholeDuckDB(),
        LargeDuckDB(),
    )
}
# Without those that take a second look at a server, and what Debian does not have.
DEFAULT = [name for name in EVERY if name not in ("puma-lazy", "puma-full") and not name.startswith("duckdb")]
