"""Keeps versions of hidden cases in GRADER_DATA_DIR, readable by their owner only.

cases/<problem>/<version>/   the files of one version (see `case_files`), never changed once they stand there
cases/<problem>/active       which version counts, and the package's sources when it was made the active one
cases/<problem>/lock         held by whoever makes or activates cases; readers need no lock

A version is written to a folder of its own under another name, synced, and renamed; `active` is replaced by a rename.
So a crash or a full disk leaves the old version active. When the package's sources have changed since activation, the
cases are made anew from the same seed; an older version that was rolled back to stays.

Where a service has a shelf for its machines (see `shelf`), versions are copied from it before they are looked at, and
activation counts there first.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.cases.case import HIDDEN, CaseSet, Version
from grader.cases.code import load_code, sources
from grader.cases.disk import folder_of, locked, no_word
from grader.cases.durable import altered, read, read_json, sync, write
from grader.cases.files import (
    DERIVED,
    EXPECTED,
    INPUTS,
    MANIFEST,
    MISTAKES,
    pack,
    pack_answers,
    sha256,
    to_json,
    unpack,
    version_of,
)
from grader.cases.make import make_cases
from grader.cases.mistakes import explain, from_bytes, to_bytes
from grader.cases.shelf import Active, shared
from grader.errors import CasesError, UsageError

if TYPE_CHECKING:
    from grader.problem.schema import Problem

FILES = (MANIFEST, INPUTS, DERIVED, EXPECTED, MISTAKES)
SEED_BYTES = 32
Check = Callable[[CaseSet], None]


def load_active(problem: Problem) -> CaseSet:
    """The active cases; made on first use with a random secret seed, and anew (same seed) when the package changed."""
    folder = _synced(problem)
    if not _is_current(problem, folder):
        with locked(folder):
            if not _is_current(problem, folder):
                _make(problem, folder, _active_seed(folder) or secrets.token_bytes(SEED_BYTES), None)
    return load_version(folder / read_active(folder).version)


def regenerate(
    problem: Problem,
    seed: int | None = None,
    *,
    check: Check | None = None,
    activate: bool = True,
    on_wait: Callable[[], None] = no_word,
) -> CaseSet:
    """Makes the cases anew (a random seed if none is given), lets `check` look at them, then activates them.

    What `check` raises is passed on, and the old cases stay active; without `activate` they do so in any case. on_wait
    is called where another process is at it, and has to be waited for. Raises CasesError.
    """
    folder = folder_of(problem)
    secret = secrets.token_bytes(SEED_BYTES) if seed is None else b"seed %d" % seed
    with locked(folder, on_wait):
        return _make(problem, folder, secret, check, activate)


def has_cases(problem: Problem) -> bool:
    """Whether there is a version to grade with, so that nothing has to be made first."""
    return (_synced(problem) / "active").exists()


def active(problem: Problem) -> CaseSet | None:
    """The active cases as they stand, whatever the package's files say now; None where there are none yet."""
    folder = _synced(problem)
    return load_version(folder / read_active(folder).version) if (folder / "active").exists() else None


def rollback(problem: Problem, version: str) -> CaseSet:
    """Makes an earlier version the active one. Raises UsageError where there is no such version."""
    folder = _synced(problem)
    if version not in _stored(folder):
        known = ", ".join(_stored(folder)) or "none"
        raise UsageError(f"{problem.slug}: no version {version[:64]!r} of its cases; there are: {known}")
    with locked(folder):
        case_set = load_version(folder / version)
        _set_active(problem, folder, version)
    return case_set


def list_versions(problem: Problem) -> tuple[Version, ...]:
    """Stored versions, newest first."""
    folder = _synced(problem)
    current = read_active(folder).version if (folder / "active").exists() else None
    found = [_describe(folder / name, name == current) for name in _stored(folder)]
    return tuple(sorted(found, key=lambda version: version.created_at, reverse=True))


def stored_version(problem: Problem, version: str) -> CaseSet | None:
    """A version, active or not, if this machine has its files. Raises CasesError."""
    folder = folder_of(problem)
    return load_version(folder / version) if version in _stored(folder) else None


def export_version(problem: Problem, version: str) -> dict[str, bytes]:
    """A version's files by name, checked, for keeping them elsewhere. Raises CasesError, UsageError."""
    folder = folder_of(problem)
    if version not in _stored(folder):
        raise UsageError(f"{problem.slug}: no version {version[:64]!r} of its cases")
    load_version(folder / version)
    return {name: (folder / version / name).read_bytes() for name in FILES}


def import_version(problem: Problem, version: str, files: Mapping[str, bytes], *, activate: bool = True) -> CaseSet:
    """Stores what `export_version` gave, here or on another machine. Raises CasesError where it was altered."""
    folder = folder_of(problem)
    with locked(folder):
        return _import(problem, folder, version, files, activate)


def _import(problem: Problem, folder: Path, version: str, files: Mapping[str, bytes], activate: bool) -> CaseSet:
    if files.keys() != set(FILES) or version_of(files[MANIFEST]) != version:
        raise CasesError(f"{problem.slug}: these are not the files of version {version[:64]!r} of its cases")
    return _store(problem, folder, files, None, activate)


def _synced(problem: Problem) -> Path:
    """The folder of the problem's versions, in step with the shelf: copied from it, or given to an empty one."""
    folder, there = folder_of(problem), shared()
    if there is None:
        return folder
    with locked(folder):
        for version in set(there.versions(problem.slug)) - set(_stored(folder)):
            _import(problem, folder, version, there.fetch(problem.slug, version), False)
        here = read_active(folder) if (folder / "active").exists() else None
        if active := there.active(problem.slug):
            if active != here:
                _point_to(folder, active)
        elif here:
            there.put(problem.slug, here, _files(folder / here.version))
    return folder


def _files(folder: Path) -> dict[str, bytes]:
    return {name: read(folder / name) for name in FILES}


# ---------------------------------------------------------------- making and writing


def _make(problem: Problem, folder: Path, seed: bytes, check: Check | None, activate: bool = True) -> CaseSet:
    made_by, code = sources(problem), load_code(problem)
    cases = make_cases(problem, code, seed)
    files = pack(problem.slug, cases, made_by)
    derived = {EXPECTED: pack_answers(cases), MISTAKES: to_bytes(explain(code, cases))}
    told = {
        "created_at": datetime.now(UTC).isoformat(timespec="microseconds"),
        "seed": seed.hex(),
        "files": {name: sha256(data) for name, data in derived.items()},
    }
    files[DERIVED] = to_json(told | {"sha256": sha256(to_json(told))})
    return _store(problem, folder, files | derived, check, activate)


def _store(problem: Problem, folder: Path, files: Mapping[str, bytes], check: Check | None, activate: bool) -> CaseSet:
    """Writes a version under another name, reads it back, has it checked, and only then gives it its name."""
    version = version_of(files[MANIFEST])
    _sweep(folder)
    fresh = folder / f".{version}.{secrets.token_hex(4)}"
    try:
        _write_version(fresh, files)
        case_set = load_version(fresh, version)
        if check is not None:
            check(case_set)
        _replace(fresh, folder / version)
    except OSError as error:
        raise CasesError(f"{error.filename or fresh}: {error.strerror}: the old cases stay active") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    if activate:
        _set_active(problem, folder, version)
    return load_version(folder / version)


def _write_version(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(mode=0o700)
    for name, data in files.items():
        write(folder / name, data)
    sync(folder)


def _replace(fresh: Path, place: Path) -> None:
    """Gives the version its name. One that stands there already is kept if it is sound: readers may be using it."""
    try:
        load_version(place)
    except CasesError:
        if place.exists():
            place.rename(place.with_name(f".broken.{secrets.token_hex(4)}"))
        fresh.rename(place)
        sync(place.parent)


def _sweep(folder: Path) -> None:
    """Removes what a crash left behind."""
    for path in folder.glob(".*"):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _set_active(problem: Problem, folder: Path, version: str) -> None:
    active = Active(version=version, sources=sources(problem))
    if there := shared():
        there.put(problem.slug, active, _files(folder / version))
    _point_to(folder, active)


def _point_to(folder: Path, active: Active) -> None:
    fresh = folder / f".active.{secrets.token_hex(4)}"
    write(fresh, to_json({"version": active.version, "sources": dict(active.sources)}))
    fresh.replace(folder / "active")
    sync(folder)


# ---------------------------------------------------------------- reading


def read_active(folder: Path) -> Active:
    """Which version counts. Raises CasesError where it can't be read."""
    said = read_json(folder / "active")
    if said.keys() != {"version", "sources"}:
        raise altered(folder / "active")
    return Active(**said)


def _read_derived(folder: Path) -> dict[str, Any]:
    """derived.json without its own sum, which was checked."""
    derived = read_json(folder / DERIVED)
    if derived.pop("sha256", None) != sha256(to_json(derived)):
        raise altered(folder / DERIVED)
    return derived


def _is_current(problem: Problem, folder: Path) -> bool:
    return (folder / "active").exists() and read_active(folder).sources == sources(problem)


def _active_seed(folder: Path) -> bytes | None:
    if not (folder / "active").exists():
        return None
    return bytes.fromhex(_read_derived(folder / read_active(folder).version)["seed"])


def _stored(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _describe(folder: Path, active: bool) -> Version:
    derived, manifest = _read_derived(folder), read_json(folder / MANIFEST)
    return Version(
        version=folder.name,
        active=active,
        created_at=derived["created_at"],
        count=sum(case["visibility"] == HIDDEN for case in manifest["cases"]),
        digest=sha256(read(folder / MANIFEST)),
    )


def load_version(folder: Path, version: str | None = None) -> CaseSet:
    """Reads a version, all sums checked. Raises CasesError, naming the file that is missing, cut short or altered."""
    files = {name: read(folder / name) for name in (MANIFEST, INPUTS, EXPECTED, MISTAKES)}
    version = version or folder.name
    if version_of(files[MANIFEST]) != version:
        raise altered(folder / MANIFEST)
    manifest, derived = read_json(folder / MANIFEST), _read_derived(folder)
    for name, digest in (manifest["files"] | derived["files"]).items():
        if sha256(files[name]) != digest:
            raise altered(folder / name)
    seed = bytes.fromhex(derived["seed"])
    return CaseSet(
        problem=manifest["problem"],
        version=version,
        cases=unpack(files, str(folder / MANIFEST)),
        order_key=bytes.fromhex(sha256(b"order of the hidden cases " + seed)),
        load_explanations=cache(partial(from_bytes, files[MISTAKES])),
    )
