"""Makes system calls and prints the result of each. The arguments are chosen so that an allowed call does no harm.

Each call runs in its own process, because an allowed call may change the process. Calls go through libc where possible,
so that the test does not depend on our own table of numbers.
"""
import ctypes
import errno
import json
import mmap
import os
import platform
import signal

libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
buf = ctypes.create_string_buffer(256)


def raw(x64, arm64):
    return lambda *a: libc.syscall(arm64 if arm else x64, *a)


calls = {
    "unshare user": lambda: libc.unshare(0x10000000),
    "unshare time": lambda: libc.unshare(0x80),
    "unshare files": lambda: libc.unshare(0x400),
    "clone pid": lambda: raw(56, 220)(0x20000000 | 17, 0, 0, 0, 0),
    "clone3": lambda: raw(435, 435)(0, 0),
    "setns": lambda: libc.setns(os.open("/proc/self/ns/uts", os.O_RDONLY), 0),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "umount2": lambda: libc.umount2(b"/none", 0),
    "pivot_root": lambda: raw(155, 41)(b"/none", b"/none"),
    "chroot": lambda: libc.chroot(b"/"),
    "open_tree": lambda: raw(428, 428)(-100, b"/", 0),
    "move_mount": lambda: raw(429, 429)(-1, b"", -1, b"", 0),
    "fsopen": lambda: raw(430, 430)(b"tmpfs", 0),
    "fsconfig": lambda: raw(431, 431)(-1, 0, 0, 0, 0),
    "fsmount": lambda: raw(432, 432)(-1, 0, 0),
    "fspick": lambda: raw(433, 433)(-1, 0, 0),
    "mount_setattr": lambda: raw(442, 442)(-1, 0, 0, 0, 0),
    "open_tree_attr": lambda: raw(467, 467)(-1, 0, 0, 0, 0),
    "open_by_handle_at": lambda: libc.open_by_handle_at(-1, buf, 0),
    "name_to_handle_at": lambda: libc.name_to_handle_at(-1, b"x", buf, buf, 0),
    "add_key": lambda: raw(248, 217)(b"user", b"x", b"y", 1, -3),
    "request_key": lambda: raw(249, 218)(b"user", b"none", 0, 0),
    "keyctl": lambda: raw(250, 219)(0, -3, 1),
    "bpf": lambda: raw(321, 280)(999, 0, 0),
    "perf_event_open": lambda: raw(298, 241)(0, 0, -1, -1, 0),
    "userfaultfd": lambda: raw(323, 282)(1),
    "io_uring_setup": lambda: raw(425, 425)(0, 0),
    "io_uring_enter": lambda: raw(426, 426)(-1, 0, 0, 0, 0, 0),
    "io_uring_register": lambda: raw(427, 427)(-1, 0, 0, 0),
    "kexec_load": lambda: raw(246, 104)(0, 99, 0, 0),
    "kexec_file_load": lambda: raw(320, 294)(-1, -1, 0, 0, 0),
    "reboot": lambda: raw(169, 142)(0, 0, 0, 0),
    "vhangup": lambda: libc.vhangup(),
    "init_module": lambda: raw(175, 105)(0, 0, 0),
    "finit_module": lambda: raw(313, 273)(-1, 0, 0),
    "delete_module": lambda: raw(176, 106)(0, 0),
    "swapon": lambda: libc.swapon(None, 0),
    "swapoff": lambda: libc.swapoff(None),
    "acct": lambda: libc.acct(b"/none/none"),
    "syslog": lambda: libc.klogctl(3, buf, 10),
    "quotactl": lambda: libc.quotactl(0x80000100, b"/none", 0, buf),
    "quotactl_fd": lambda: raw(443, 443)(-1, 0, 0, 0),
    "settimeofday": lambda: raw(164, 170)(0, 0),
    "clock_settime": lambda: libc.clock_settime(99, buf),
    "adjtimex": lambda: libc.adjtimex(buf),
    "clock_adjtime": lambda: libc.clock_adjtime(0, buf),
    "sethostname": lambda: libc.sethostname(b"x", 1),
    "setdomainname": lambda: libc.setdomainname(b"x", 1),
    "personality query": lambda: libc.personality(ctypes.c_ulong(0xffffffff)),
    "personality without randomness": lambda: libc.personality(ctypes.c_ulong(0x0040000)),
    "personality read implies exec": lambda: libc.personality(ctypes.c_ulong(0x0400000)),
    "ioctl TIOCSTI": lambda: libc.ioctl(0, 0x5412, buf),
    "ioctl TIOCLINUX": lambda: libc.ioctl(0, 0x541C, buf),
    "ioctl TIOCSETD": lambda: libc.ioctl(0, 0x5423, buf),
    "ioctl TIOCSTI high": lambda: libc.ioctl(0, ctypes.c_ulong(0x100005412), buf),
    "socket unix seqpacket": lambda: libc.socket(1, 5, 0),
    "socket tcp": lambda: libc.socket(2, 1 | 0o2004000, 6),
    "socket udp6": lambda: libc.socket(10, 2, 17),
    "socket route": lambda: libc.socket(16, 3, 0),
    "socket netfilter": lambda: libc.socket(16, 3, 12),
    "socket vsock": lambda: libc.socket(40, 1, 0),
    "socket packet": lambda: libc.socket(17, 3, 0),
    "socket alg": lambda: libc.socket(38, 5, 0),
    "socket mptcp": lambda: libc.socket(2, 1, 262),
    "socket dccp": lambda: libc.socket(2, 6, 0),
    "socketpair unix": lambda: libc.socketpair(1, 1, 0, buf),
    "socketpair tipc": lambda: libc.socketpair(30, 1, 0, buf),
    "ptrace": lambda: libc.ptrace(0, 0, 0, 0),
    "process_vm_readv": lambda: libc.process_vm_readv(os.getpid(), 0, 0, 0, 0, 0),
}
if not arm:
    calls["iopl"] = lambda: raw(172, 0)(3)
    calls["ioperm"] = lambda: raw(173, 0)(0, 1, 1)
    calls["modify_ldt"] = lambda: raw(154, 0)(0, buf, 16)
    calls["i386 getpid"] = lambda: i386_getpid()
    calls["x32 getpid"] = lambda: raw(0x40000000 | 39, 0)()


def i386_getpid():
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20; int 0x80; ret
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()


def errno_of(call):
    pid = os.fork()
    if pid == 0:
        ctypes.set_errno(0)
        result = call()
        os._exit(ctypes.get_errno() if result < 0 else 0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        return signal.Signals(-code).name
    return "ok" if code == 0 else errno.errorcode.get(code, str(code))

print(json.dumps({name: errno_of(call) for name, call in calls.items()}))
