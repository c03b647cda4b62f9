"""Versions of hidden cases on disk: private, atomic, checked, repeatable."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cases import store as case_store
from grader.cases.case import HIDDEN, CaseSet
from grader.cases.store import export_version, import_version, list_versions, load_active, regenerate, rollback
from grader.errors import CasesError, UsageError
from grader.problem.schema import Problem


@pytest.fixture(scope="module")
def package(situ_glu: Problem, tmp_path_factory: pytest.TempPathFactory) -> Problem:
    """situ_glu with its cases, but with no mistakes to compute: those take seconds, and are not what is tested here."""
    root = tmp_path_factory.mktemp("packages") / "situ_glu"
    root.mkdir()
    for name in ("reference.py", "cases.py"):
        shutil.copy(situ_glu.root / name, root / name)
    (root / "mistakes.py").write_text("def explanations(*args, **kwargs):\n    return iter(())\n")
    return situ_glu.model_copy(update={"root": root})


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own; the folder of its versions."""
    monkeypatch.setenv("GRADER_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data" / "cases" / "situ_glu"


def test_first_use_makes_private_cases(package: Problem, store: Path) -> None:
    """The first load makes cases from a random seed; only their owner may read anything of them."""
    case_set = load_active(package)
    assert case_set == load_active(package) and len(case_set.cases) > 40
    for path in (store, store.parent, *store.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_an_open_umask_opens_nothing(package: Problem, store: Path) -> None:
    """Files are private from their first moment, whatever the umask."""
    before = os.umask(0)
    try:
        load_active(package)
    finally:
        os.umask(before)
    assert not any(path.stat().st_mode & 0o077 for path in (store, *store.rglob("*")))


def test_random_seeds_differ_and_given_ones_repeat(package: Problem, store: Path) -> None:
    """Two random seeds give two versions, the same number the same version and bytes."""
    first, second = regenerate(package), regenerate(package)
    assert first.version != second.version
    one = regenerate(package, 7)
    stored = (store / one.version / "inputs.safetensors").read_bytes()
    again = regenerate(package, 7)
    assert again == one and again.version == one.version
    assert (store / one.version / "inputs.safetensors").read_bytes() == stored
    assert len(list_versions(package)) == 3


def test_what_is_loaded_is_what_was_made(package: Problem, store: Path) -> None:
    """Calls come back from disk as they were made: bytes, strides, whole and fractional numbers, expected values."""
    from grader.cases.code import load_code  # noqa: PLC0415
    from grader.cases.make import make_cases  # noqa: PLC0415

    made = make_cases(package, load_code(package), b"seed 3")
    loaded = regenerate(package, 3).cases
    assert loaded == made
    for ours, theirs in zip(loaded, made, strict=True):
        assert [type(value) for value in ours.call.args] == [type(value) for value in theirs.call.args]
        assert ours.expected is None or ours.expected.equal(theirs.expected)  # type: ignore[arg-type]
        assert ours.allowance is None or ours.allowance.equal(theirs.allowance)  # type: ignore[arg-type]


def test_a_failed_check_leaves_the_old_version_active(package: Problem, store: Path) -> None:
    """What the check raises is passed on; the new version is not there, the old one is."""
    old = load_active(package)

    def refuse(case_set: CaseSet) -> None:
        assert case_set.version != old.version and load_active(package).version == old.version
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        regenerate(package, 1, check=refuse)
    assert load_active(package) == old and [version.version for version in list_versions(package)] == [old.version]


def test_without_activation_the_old_version_stays(package: Problem, store: Path) -> None:
    """A version can be made for later."""
    old = load_active(package)
    new = regenerate(package, 1, activate=False)
    assert load_active(package) == old
    assert {version.version for version in list_versions(package)} == {old.version, new.version}


def test_a_full_disk_leaves_the_old_version_active(
    package: Problem, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in the middle of writing is named, changes nothing, and leaves nothing behind."""
    old = load_active(package)
    real = case_store.write

    def fail(path: Path, data: bytes) -> None:
        if path.name == "expected.safetensors":
            raise OSError(28, "No space left on device", str(path))
        real(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(case_store, "write", fail)
        with pytest.raises(CasesError, match=r"expected.safetensors: No space left on device"):
            regenerate(package, 1)
    assert load_active(package) == old
    assert {path.name for path in store.iterdir()} == {old.version, "active", "lock"}


def test_a_rollback_stays(package: Problem, store: Path) -> None:
    """An earlier version can be made active again; versions are listed newest first, and nothing of them is told."""
    first, second = regenerate(package, 1), regenerate(package, 2)
    assert rollback(package, first.version) == first == load_active(package)
    versions = list_versions(package)
    assert [(one.version, one.active) for one in versions] == [(second.version, False), (first.version, True)]
    assert versions[0].count == sum(case.visibility == HIDDEN for case in second.cases)
    assert versions[0].digest.startswith(second.version) and versions[0].created_at.endswith("+00:00")


@pytest.mark.parametrize("name", ["nothing", "../situ_glu", "", ".", "active"])
def test_an_unknown_version_is_a_usage_error(package: Problem, store: Path, name: str) -> None:
    """Rolling back to what is not there says what there is."""
    version = load_active(package).version
    with pytest.raises(UsageError, match=version):
        rollback(package, name)


FILES = ["manifest.json", "inputs.safetensors", "derived.json", "expected.safetensors", "mistakes.safetensors"]
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "one bit": lambda data: data[:-20] + bytes([data[-20] ^ 1]) + data[-19:],
    "longer": lambda data: data + b" ",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_damage_is_found_on_loading_and_named(package: Problem, store: Path, name: str, damage: str) -> None:
    """Any file that was cut short or altered is refused with its name, not used."""
    version = regenerate(package, 1).version
    path = store / version / name
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    if name == "derived.json" and damage == "longer":
        return  # white space after JSON is no damage
    with pytest.raises(CasesError, match=name.replace(".", r"\.")):
        load_active(package)


def test_a_missing_file_is_named(package: Problem, store: Path) -> None:
    """A version without one of its files is refused with the file's name."""
    version = regenerate(package, 1).version
    (store / version / "expected.safetensors").unlink()
    with pytest.raises(CasesError, match=r"expected\.safetensors: No such file"):
        load_active(package)


def test_making_a_damaged_version_again_mends_it(package: Problem, store: Path) -> None:
    """The same seed puts a sound version in the damaged one's place."""
    made = regenerate(package, 1)
    (store / made.version / "inputs.safetensors").write_bytes(b"")
    assert regenerate(package, 1) == made == load_active(package)


def test_an_altered_active_file_is_named(package: Problem, store: Path) -> None:
    """The pointer to the active version is checked too."""
    load_active(package)
    (store / "active").write_text('{"version": 1}')
    with pytest.raises(CasesError, match="active"):
        load_active(package)


def test_a_changed_package_gets_new_cases_from_the_same_seed(package: Problem, store: Path) -> None:
    """When a file that makes cases has changed, the next load makes them anew; a rollback afterwards stays."""
    old = load_active(package)
    active = json.loads((store / "active").read_text())
    active["sources"]["cases.py"] = "of another day"
    (store / "active").write_text(json.dumps(active))
    assert load_active(package) == old
    assert json.loads((store / "active").read_text())["sources"] == case_store.sources(package)


def test_a_changed_public_seed_gets_new_cases(package: Problem, store: Path) -> None:
    """Public cases follow `public_seed`, hidden ones stay; a mended title is no reason to make cases anew."""
    old = load_active(package)
    assert load_active(package.model_copy(update={"title": "Another"})).version == old.version
    new = load_active(package.model_copy(update={"public_seed": package.public_seed + 1}))
    changed = {case.visibility for case, before in zip(new.cases, old.cases, strict=True) if case.call != before.call}
    assert changed == {"public"}


def test_versions_travel_as_files(
    package: Problem, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one machine exports another imports, seed and all; altered files are refused."""
    made = regenerate(package, 1)
    files = export_version(package, made.version)
    monkeypatch.setenv("GRADER_DATA_DIR", str(tmp_path / "other"))
    assert import_version(package, made.version, files) == made == load_active(package)
    with pytest.raises(CasesError, match="not the files of version"):
        import_version(package, made.version, files | {"manifest.json": b"{}"})
    with pytest.raises(CasesError, match=r"inputs\.safetensors"):
        import_version(package, made.version, files | {"inputs.safetensors": b""})


def make_first(arguments: tuple[str, str]) -> str:
    """In a process of its own: the version that it sees on first use."""
    folder, package = arguments
    os.environ["GRADER_DATA_DIR"] = folder
    from grader.problem import folder as problem  # noqa: PLC0415

    return load_active(problem.load(package)).version


@pytest.mark.slow
def test_two_processes_at_once_see_one_version(situ_glu: Problem, tmp_path: Path) -> None:
    """When several processes need the cases for the first time, one makes them and all use those."""
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        versions = pool.map(make_first, [(str(tmp_path), str(situ_glu.root))] * 3, chunksize=1)
    assert len(set(versions)) == 1 and len(list((tmp_path / "cases" / "situ_glu").iterdir())) == 3


def test_a_folder_that_cannot_be_made_is_named(
    package: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the data folder can't be, the error says which and what to set."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRADER_DATA_DIR", str(tmp_path / "file"))
    with pytest.raises(CasesError, match="GRADER_DATA_DIR"):
        load_active(package)
