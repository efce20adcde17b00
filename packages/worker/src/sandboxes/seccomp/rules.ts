import { constants as os } from "node:os";
import type { Decision } from "./bpf.ts";

/**
 * The system calls that commands in a sandbox may not make, and the error that each returns. bubblewrap already removes
 * all capabilities and prevents new user namespaces. The filter also blocks access to the kernel code behind them, in
 * which most vulnerabilities of recent years were found. Unlisted calls are allowed, because an allowlist would break
 * programs with every new kernel and libc.
 *
 * ptrace and process_vm_* are allowed on purpose, because debuggers need them. They can access only processes of the
 * same sandbox, except init and its supervisors, and cannot remove the filter from them.
 */
export const allow: Decision = { returns: 0x7fff0000 };

const errnoDecisions = new Map<number, Decision>();
/** Returns the same object for the same error, so that it compiles to one instruction. */
function returnErrno(errno: number): Decision {
  const decision = errnoDecisions.get(errno) ?? { returns: 0x00050000 | errno };
  errnoDecisions.set(errno, decision);
  return decision;
}

const { EPERM, ENOSYS, EINVAL, EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP } = os.errno;
const ESOCKTNOSUPPORT = 94;
const forbidden = returnErrno(EPERM);
/** Used for calls that programs probe for and can do without. */
export const notImplemented = returnErrno(ENOSYS);

/** The offset of an argument in struct seccomp_data. All tested arguments are 32-bit, so the upper half is ignored. */
const argument = (index: number) => 16 + 8 * index;

/** CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET. */
const newNamespaces = 0x7e020000;
/** CLONE_NEWTIME. In clone, this bit is part of the signal number. */
const newTimeNamespace = 0x80;

function forbidFlags(flags: number): Decision {
  return { load: argument(0), next: { test: "anyOf", value: flags, yes: forbidden, no: allow } };
}

function oneOf(values: number[], yes: Decision, no: Decision): Decision {
  return values.reduceRight<Decision>((rest, value) => ({ test: "equal", value, yes, no: rest }), no);
}

const [afUnix, afInet, afInet6, afNetlink] = [1, 2, 10, 16];

// Other families and protocols are rarely used and consist of old code that the kernel loads on demand. One of them,
// vsock, bypasses network namespaces and reaches the hypervisor. inet allows only TCP, UDP and ICMP echo, as stream,
// datagram or raw sockets; raw ones require a capability anyway. netlink allows only NETLINK_ROUTE, which programs use
// to list addresses.
const inetProtocol: Decision = {
  load: argument(2),
  next: oneOf([0, 6, 17, 1, 58], allow, returnErrno(EPROTONOSUPPORT)),
};
const inet: Decision = {
  load: argument(1),
  mask: 0xf,
  next: { test: "atLeast", value: 4, yes: returnErrno(ESOCKTNOSUPPORT), no: inetProtocol },
};
const netlink: Decision = { load: argument(2), next: oneOf([0], allow, returnErrno(EPROTONOSUPPORT)) };
const socket: Decision = {
  load: argument(0),
  next: oneOf(
    [afUnix],
    allow,
    oneOf([afInet, afInet6], inet, oneOf([afNetlink], netlink, returnErrno(EAFNOSUPPORT))),
  ),
};
const socketpair: Decision = { load: argument(0), next: oneOf([afUnix], allow, returnErrno(EAFNOSUPPORT)) };

// TIOCSTI injects input into the terminal from which the worker may have been started, TIOCLINUX pastes into it, and
// TIOCSETD loads line disciplines.
const ioctl: Decision = { load: argument(1), next: oneOf([0x5412, 0x541c, 0x5423], forbidden, allow) };

// Allows reading the current value, and UNAME26, ADDR_NO_RANDOMIZE (debuggers, sanitizers) and PER_LINUX32, which
// affect only the caller. The other flags enable legacy behavior that has had vulnerabilities.
const personality: Decision = {
  load: argument(0),
  next: {
    ...{ test: "equal", value: 0xffffffff, yes: allow },
    no: { test: "anyOf", value: ~0x0006_0008 >>> 0, yes: returnErrno(EINVAL), no: allow },
  },
};

/** The number of each call on x86_64 and, if it exists there, on aarch64. */
export const rules: [decision: Decision, calls: Record<string, [x64: number, arm64?: number]>][] = [
  // A new namespace gives its creator capabilities inside it. Unsharing files or the working folder is harmless.
  // clone3's flags are in memory, which a filter cannot read, and libc falls back to clone.
  [forbidFlags(newNamespaces | newTimeNamespace), { unshare: [272, 97] }],
  [forbidFlags(newNamespaces), { clone: [56, 220] }],
  [notImplemented, { clone3: [435, 435] }],
  [forbidden, { setns: [308, 268] }],
  // Mounts and roots are part of the isolation. Tools that find the newer calls missing fall back to mount.
  [forbidden, { mount: [165, 40], umount2: [166, 39], pivot_root: [155, 41], chroot: [161, 51] }],
  [
    notImplemented,
    { open_tree: [428, 428], move_mount: [429, 429], fsopen: [430, 430], fsconfig: [431, 431] },
  ],
  [
    notImplemented,
    { fsmount: [432, 432], fspick: [433, 433], mount_setattr: [442, 442], open_tree_attr: [467, 467] },
  ],
  // File handles bypass mounts, so they could open a file outside the sandbox.
  [forbidden, { open_by_handle_at: [304, 265] }],
  [returnErrno(EOPNOTSUPP), { name_to_handle_at: [303, 264] }],
  // Keyrings belong to a user, not to a namespace.
  [notImplemented, { add_key: [248, 217], request_key: [249, 218], keyctl: [250, 219] }],
  // These calls run programs inside the kernel, read machine-wide counters, handle page faults in user space (which
  // exploits use), or use io_uring, whose operations bypass the filter.
  [forbidden, { bpf: [321, 280], perf_event_open: [298, 241] }],
  [notImplemented, { userfaultfd: [323, 282] }],
  [notImplemented, { io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] }],
  // These calls control the host itself: kernel, modules, swap, power, process accounting, quotas, clock, host name,
  // log and terminals.
  [
    forbidden,
    { kexec_load: [246, 104], kexec_file_load: [320, 294], reboot: [169, 142], vhangup: [153, 58] },
  ],
  [forbidden, { init_module: [175, 105], finit_module: [313, 273], delete_module: [176, 106] }],
  [forbidden, { swapon: [167, 224], swapoff: [168, 225], acct: [163, 89], syslog: [103, 116] }],
  [forbidden, { quotactl: [179, 60], quotactl_fd: [443, 443] }],
  [forbidden, { settimeofday: [164, 170], clock_settime: [227, 112] }],
  [forbidden, { adjtimex: [159, 171], clock_adjtime: [305, 266] }],
  [forbidden, { sethostname: [170, 161], setdomainname: [171, 162] }],
  // These calls access I/O ports and CPU segments.
  [forbidden, { iopl: [172], ioperm: [173] }],
  [notImplemented, { modify_ldt: [154] }],
  [personality, { personality: [135, 92] }],
  [ioctl, { ioctl: [16, 29] }],
  [socket, { socket: [41, 198] }],
  [socketpair, { socketpair: [53, 199] }],
];
