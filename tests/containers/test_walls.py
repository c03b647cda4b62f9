"""What a sandbox container may do, as the engine tells it and as a look from inside shows it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from grader.sandbox.docker.options import CAPABILITIES, SOCKET_FOLDER, WORK_FOLDER, confinement
from grader.sandbox.docker.profile import text
from tests.containers.engines import REPOSITORY, Service


def inside(service: Service) -> dict[str, Any]:
    """What a program in the container sees, with the rights of its first process."""
    program = Path(__file__).with_name("inside.py").read_text(encoding="utf-8")
    command = ["/srv/venv/bin/python", "-I", "-c", program]
    code, output = service.container.exec_run(command)
    assert code == 0, output
    found: dict[str, Any] = json.loads(output)
    return found


def test_from_inside(service: Service) -> None:
    """Three capabilities, no new privileges, a filter, an init, no network, nothing to write but the work folder."""
    seen = inside(service)

    assert seen["capabilities"] == "00000000000000e0"  # KILL, SETGID, SETUID
    assert (seen["no_new_privileges"], seen["seccomp"], seen["first"]) == ("1", "2", "docker-init")
    assert seen["interfaces"] == ["lo"]
    assert (seen["write"], seen["af_alg"], seen["inet"]) == ("refused",) * 3
    assert (seen["unshare"], seen["mount"], seen["keyctl"], seen["io_uring"]) == ("killed",) * 4
    assert seen["guest_memory"] == "refused"
    assert seen["work_bytes"] == 256 << 20
    assert seen["descriptors"] == 4096
    assert (seen["there"], seen["tools"]) == ([], [])
    assert seen["modules"] == ["__init__.py", "__init__.py"]


def test_from_outside(service: Service) -> None:
    """The engine's own record says the same, and the socket's folder is the only thing mounted."""
    service.container.reload()
    host = service.container.attrs["HostConfig"]

    assert {key: host[key] for key in confinement() if key not in {"CapAdd", "Ulimits"}} == {
        key: value for key, value in confinement().items() if key not in {"CapAdd", "Ulimits"}
    }
    assert {name.removeprefix("CAP_") for name in host["CapAdd"]} == set(CAPABILITIES)
    assert host["Memory"] == host["MemorySwap"] == 2 << 30
    assert host["PidsLimit"] == 1024
    assert not host["Privileged"]
    assert [mount["Destination"] for mount in service.container.attrs["Mounts"]] == [SOCKET_FOLDER]


def test_profile_file_is_made_from_the_guests_own_lists() -> None:
    """images/seccomp.json is what `python -m grader.sandbox.docker.profile` prints."""
    assert (REPOSITORY / "images" / "seccomp.json").read_text(encoding="utf-8") == text()


def test_compose_says_the_same_as_the_sdk() -> None:
    """The sandbox of docker-compose.yml has the walls of `grader.sandbox.docker.options`."""
    sandbox = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text(encoding="utf-8"))["services"]["sandbox"]
    walls = confinement()

    assert (sandbox["network_mode"], sandbox["ipc"]) == (walls["NetworkMode"], walls["IpcMode"])
    assert (sandbox["read_only"], sandbox["init"]) == (walls["ReadonlyRootfs"], walls["Init"])
    assert (sandbox["cap_drop"], sandbox["cap_add"]) == (walls["CapDrop"], walls["CapAdd"])
    assert sandbox["tmpfs"] == [f"{WORK_FOLDER}:{walls['Tmpfs'][WORK_FOLDER]}"]
    assert sandbox["security_opt"] == ["no-new-privileges:true", "seccomp:./images/seccomp.json"]
    assert sandbox["ulimits"] == {"nofile": {"soft": 4096, "hard": 4096}, "core": 0}
    assert sandbox["mem_limit"] == sandbox["memswap_limit"]
    assert (sandbox["restart"], sandbox["pids_limit"]) == ("always", 1024)


def test_nothing_in_compose_holds_the_engine() -> None:
    """No service mounts the engine's socket, is privileged or has a password."""
    words = (REPOSITORY / "docker-compose.yml").read_text(encoding="utf-8")

    assert not [word for word in ("docker.sock", "privileged", "PASSWORD", "password:") if word in words]


def test_makers_of_the_base_are_plain_shell() -> None:
    """The scripts that make images are free of syntax errors."""
    scripts = list((REPOSITORY / "images").glob("*.sh"))

    assert all(subprocess.run(["bash", "-n", path], check=False).returncode == 0 for path in scripts)
    assert Path(REPOSITORY / "images" / "make-base-image.sh") in scripts
