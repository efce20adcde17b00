import { constants as os } from "node:os";
import type { Decision } from "./bpf.ts";

/**
 * The calls of the kernel that no command in a sandbox may make, and what they get instead. The walls already
 * take all capabilities and new user namespaces from a command; this takes away the code behind them, in which most
 * holes of the last years were found. What is not named here is allowed: a list of what is allowed would break
 * programs with each new kernel and libc.
 *
 * Allowed on purpose: ptrace and process_vm_*, without which there are no debuggers. They reach processes of the same
 * user in the same pid namespace, that is, of the same command, and cannot lift this filter from them.
 */
export const allow: Decision = { answer: 0x7fff0000 };

const refusals = new Map<number, Decision>();
/** One object for each error, so that it is one instruction. */
function refuse(errno: number): Decision {
  const refusal = refusals.get(errno) ?? { answer: 0x00050000 | errno };
  refusals.set(errno, refusal);
  return refusal;
}

const { EPERM, ENOSYS, EINVAL, EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP } = os.errno;
const ESOCKTNOSUPPORT = 94;
const forbidden = refuse(EPERM);
/** What programs that look whether the kernel has something know how to do without. */
export const absent = refuse(ENOSYS);

/** Where struct seccomp_data has it. The kernel reads the arguments we look at as 32 bits; their high halves mean nothing. */
const argument = (index: number) => 16 + 8 * index;

/** CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET. */
const newNamespaces = 0x7e020000;
/** CLONE_NEWTIME, which in clone is part of the signal's number. */
const newTimeNamespace = 0x80;

function refuseFlags(flags: number): Decision {
  return { load: argument(0), next: { test: "anyOf", value: flags, yes: forbidden, no: allow } };
}

function oneOf(values: number[], yes: Decision, no: Decision): Decision {
  return values.reduceRight<Decision>((rest, value) => ({ test: "equal", value, yes, no: rest }), no);
}

const [afUnix, afInet, afInet6, afNetlink] = [1, 2, 10, 16];

// Other families and protocols are rarely used, full of old code that the kernel loads on demand, and one, vsock,
// passes every network namespace and reaches the hypervisor. Of inet only TCP, UDP and ICMP's echo: as streams,
// datagrams, or raw, which needs a capability anyway. Of netlink only NETLINK_ROUTE, by which programs list addresses.
const inetProtocol: Decision = {
  load: argument(2),
  next: oneOf([0, 6, 17, 1, 58], allow, refuse(EPROTONOSUPPORT)),
};
const inet: Decision = {
  load: argument(1),
  mask: 0xf,
  next: { test: "atLeast", value: 4, yes: refuse(ESOCKTNOSUPPORT), no: inetProtocol },
};
const netlink: Decision = { load: argument(2), next: oneOf([0], allow, refuse(EPROTONOSUPPORT)) };
const socket: Decision = {
  load: argument(0),
  next: oneOf(
    [afUnix],
    allow,
    oneOf([afInet, afInet6], inet, oneOf([afNetlink], netlink, refuse(EAFNOSUPPORT))),
  ),
};
const socketpair: Decision = { load: argument(0), next: oneOf([afUnix], allow, refuse(EAFNOSUPPORT)) };

// TIOCSTI types into the terminal that the worker may have been started from, TIOCLINUX pastes into it, and TIOCSETD
// loads line disciplines.
const ioctl: Decision = { load: argument(1), next: oneOf([0x5412, 0x541c, 0x5423], forbidden, allow) };

// Asking for the present one; UNAME26, ADDR_NO_RANDOMIZE (debuggers, sanitizers) and PER_LINUX32 change only how the
// caller sees itself. The others revive old systems' ways, some of them with holes.
const personality: Decision = {
  load: argument(0),
  next: {
    ...{ test: "equal", value: 0xffffffff, yes: allow },
    no: { test: "anyOf", value: ~0x0006_0008 >>> 0, yes: refuse(EINVAL), no: allow },
  },
};

/** Each call's number on x86_64 and on aarch64, where the latter has it. */
export const rules: [decision: Decision, calls: Record<string, [x64: number, arm64?: number]>][] = [
  // A new namespace gives its maker capabilities in it. unshare of files or the working folder is harmless; clone3
  // has its flags in memory, where a filter cannot look, and libc falls back to clone.
  [refuseFlags(newNamespaces | newTimeNamespace), { unshare: [272, 97] }],
  [refuseFlags(newNamespaces), { clone: [56, 220] }],
  [absent, { clone3: [435, 435] }],
  [forbidden, { setns: [308, 268] }],
  // Mounts and roots are the walls. Tools fall back from the newer calls to mount.
  [forbidden, { mount: [165, 40], umount2: [166, 39], pivot_root: [155, 41], chroot: [161, 51] }],
  [absent, { open_tree: [428, 428], move_mount: [429, 429], fsopen: [430, 430], fsconfig: [431, 431] }],
  [
    absent,
    { fsmount: [432, 432], fspick: [433, 433], mount_setattr: [442, 442], open_tree_attr: [467, 467] },
  ],
  // Handles of files know no mounts, so that with one a file outside could be opened.
  [forbidden, { open_by_handle_at: [304, 265] }],
  [refuse(EOPNOTSUPP), { name_to_handle_at: [303, 264] }],
  // Keyrings belong to a user, not to a namespace.
  [absent, { add_key: [248, 217], request_key: [249, 218], keyctl: [250, 219] }],
  // Programs inside the kernel, counters of the whole machine, page faults answered at leisure, and calls made by the
  // kernel on behalf of a queue, which no filter sees.
  [forbidden, { bpf: [321, 280], perf_event_open: [298, 241] }],
  [absent, { userfaultfd: [323, 282] }],
  [absent, { io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] }],
  // The host itself: its kernel, modules, swap, power, accounts of processes and disk, clock, names, log, terminals.
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
  // Ports and segments of the processor.
  [forbidden, { iopl: [172], ioperm: [173] }],
  [absent, { modify_ldt: [154] }],
  [personality, { personality: [135, 92] }],
  [ioctl, { ioctl: [16, 29] }],
  [socket, { socket: [41, 198] }],
  [socketpair, { socketpair: [53, 199] }],
];
