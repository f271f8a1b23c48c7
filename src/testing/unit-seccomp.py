"""Makes the filter for system calls that systemd makes of a unit, by the library that systemd uses.

Reads {"allow": [names], "errno": number or null, "namespaces": bool} from standard input, writes the program of
the classic packet filter to standard output. Without errno a refused call kills, as with systemd.
"""

import ctypes
import json
import sys

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS = 1, 38
MASKED_EQUAL = 7
NAMESPACES = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]


class Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
unit = json.load(sys.stdin)
context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(KILL if unit["errno"] is None else ERRNO | unit["errno"])))


def add(action, name, flags=None, value=None):
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number < 0:
        return  # not a call of this machine
    comparisons = [] if flags is None else [Comparison(0, MASKED_EQUAL, flags, value)]
    array = (Comparison * len(comparisons))(*comparisons)
    failed = library.seccomp_rule_add_array(context, ctypes.c_uint32(action), number, len(comparisons), array)
    if failed:
        sys.exit(f"{name}: {failed}")


for name in unit["allow"]:
    if unit["namespaces"] or name not in ("clone", "clone3", "unshare", "setns"):
        add(ALLOW, name)
if not unit["namespaces"]:
    add(ERRNO | ENOSYS, "clone3")
    add(ERRNO | EPERM, "setns")
    for name in ("clone", "unshare"):
        add(ALLOW, name, sum(NAMESPACES), 0)
        for flag in NAMESPACES:
            add(ERRNO | EPERM, name, flag, flag)
sys.exit(library.seccomp_export_bpf(context, sys.stdout.fileno()))
