"""The seccomp profile of sandbox containers, from the guest's own lists.

`python -m grader.sandbox.docker.profile` prints it.

Theory of operation. It binds everything in the container, the guest's trusted part and its init too, so it has to let
through what those need beyond a child's calls. It is stricter than Docker's own profile: sockets are unix ones only (no
AF_ALG, no netlink, no vsock), and what Docker's profile refuses with an error to one without capabilities (namespaces,
mounts, bpf, keyrings, ...) is the end of the process here, so that a submission that tries gets the same verdict as
outside of a container. What the guest's own filter has to hear of, and Docker's profile lets through too (ptrace and
its like), passes: the guest ends the run for it and names it. Everything that stands in no list fails with EPERM.
"""

from __future__ import annotations

import errno
import json
import socket
import sys
from typing import Any

from grader.sandbox.guest.walls.seccomp import ALLOWED, REFUSED, VIOLATIONS, argument_rules


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# what Docker's profile lets through as well, and the guest wants to hear of
HEARD = ("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd")
# namespaces of clone(2), one bit each: time, mount, cgroup, uts, ipc, user, pid, net
NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
# refused to a child, needed by those who keep it, or by the container's init before and after it
KEEPERS = _words("""
execve execveat bind listen accept accept4 connect sendto recvfrom sendmsg recvmsg shutdown getsockname getpeername
setsockopt getsockopt memfd_create chmod fchmod fchmodat fchmodat2 chown fchown fchownat lchown utimensat setuid setgid
setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset seccomp landlock_create_ruleset
landlock_add_rule landlock_restrict_self prctl ioctl fcntl flock kill tkill tgkill prlimit64 sched_setaffinity
""")
MACHINES = ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")  # their foreign ABIs are not among them: calling one is death
NO_NUMBER_YET = ("clone3",)  # the C library then uses clone(2), whose flags can be looked at


def profile() -> dict[str, Any]:
    """In the form that Docker reads."""
    conditional = {call for rule in argument_rules(None) for call in rule.calls}
    allowed = sorted({*ALLOWED, *KEEPERS, *HEARD, *conditional} - {"clone"})
    refused = sorted(set(REFUSED) - set(allowed) - {"socket", "socketpair"} - set(NO_NUMBER_YET))
    killed = sorted(set(VIOLATIONS) - set(HEARD))
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "archMap": [{"architecture": name, "subArchitectures": []} for name in MACHINES],
        "syscalls": [
            _rule(allowed, "SCMP_ACT_ALLOW"),
            _rule(["socket", "socketpair"], "SCMP_ACT_ALLOW", args=[_equal(0, int(socket.AF_UNIX))]),
            _rule(["clone"], "SCMP_ACT_ALLOW", args=[_bits(0, sum(NAMESPACES), 0)]),
            *(_rule(["clone"], "SCMP_ACT_KILL_PROCESS", args=[_bits(0, bit, bit)]) for bit in NAMESPACES),
            _rule(killed, "SCMP_ACT_KILL_PROCESS"),
            _rule(list(NO_NUMBER_YET), "SCMP_ACT_ERRNO", errnoRet=errno.ENOSYS),
            _rule(refused, "SCMP_ACT_ERRNO", errnoRet=errno.EPERM),
        ],
    }


def _rule(names: list[str], action: str, **more: Any) -> dict[str, Any]:
    return {"names": names, "action": action, "args": [], **more}


def _equal(index: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": value, "op": "SCMP_CMP_EQ"}


def _bits(index: int, mask: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def text() -> str:
    """The profile as it is stored in images/seccomp.json."""
    return json.dumps(profile(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
