import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isRoot, run } from "../sandbox-support.ts";
import { call } from "./calls.ts";
import { attempts, type Ground, takeGround } from "./ground.ts";

vi.setConfig({ testTimeout: 60_000 });

let ground: Ground;
beforeAll(async () => {
  ground = await takeGround();
});
afterAll(() => ground?.leave());

const forbidden = /^refused: Operation not permitted/;
const absent = /^refused: Function not implemented/;

test("an attacker can make calls of the kernel, so that what follows are attempts", async () => {
  const { stdout } = await run(ground.sandbox, `${call("getpid")}; ${call("personality", 0)}`);
  expect(stdout).toMatch(/^worked: \d+\nworked: \d+\n$/);
});

describe("mounts and roots", () => {
  attempts(
    () => ground,
    [
      {
        name: "a file system over a folder",
        command: call("mount", '"x"', '"/tmp"', '"tmpfs"', 0, 0),
        says: forbidden,
      },
      {
        name: "the programs made writable",
        command: "mount -o remount,rw /usr; touch /usr/x",
        says: /Read-only/,
      },
      { name: "a wall taken away", command: call("umount2", '"/etc"', 2), says: forbidden },
      { name: "mounts by the newer calls", command: call("fsopen", '"tmpfs"', 0), says: absent },
      { name: "a copy of a mount", command: call("open_tree", -100, '"/usr"', 1), says: absent },
      { name: "another root", command: call("pivot_root", '"/workspace"', '"/workspace"'), says: forbidden },
      { name: "out of a root within the root", command: call("chroot", '"/workspace"'), says: forbidden },
      {
        name: "a file by its handle, which knows no mounts",
        command: call("open_by_handle_at", -100, "pack(q(Ii a16), 8, 1, 2)", 0),
        says: forbidden,
      },
      {
        name: "the groups of control, whose release agent runs on the host",
        command:
          "mkdir -p c; mount -t cgroup -o memory x c; ls /sys; find / -xdev -name release_agent 2> /dev/null; echo end",
        says: /(not permitted|superuser|denied)[\s\S]*cannot access '\/sys'[\s\S]*\nend\n$/,
      },
    ],
  );
});

describe("namespaces", () => {
  attempts(
    () => ground,
    [
      {
        name: "one of users, in which to be root",
        command: "unshare --user --map-root-user id -u",
        says: /^unshare: .*not permitted/,
        outside: /^0\n/,
      },
      { name: "one of users, by clone", command: call("clone", 0x10000011, 0, 0, 0, 0), says: forbidden },
      { name: "one by the call whose flags cannot be seen", command: call("clone3", 0, 0), says: absent },
      {
        name: "those of the first process",
        command: "nsenter --target 1 --mount --net --ipc true; nsenter --mount=/proc/1/ns/mnt true",
        says: /not permitted[\s\S]*not permitted/,
      },
    ],
  );
});

describe("the kernel itself", () => {
  attempts(
    () => ground,
    [
      { name: "a module", command: call("init_module", '"x"', 1, '""'), says: forbidden },
      { name: "a module out of a file", command: call("finit_module", 0, '""', 0), says: forbidden },
      { name: "a module's end", command: call("delete_module", '"overlay"', 2048), says: forbidden },
      { name: "a program in the kernel", command: call("bpf", 0, 0, 0), says: forbidden },
      { name: "counters of the machine", command: call("perf_event_open", 0, -1, 0, -1, 0), says: forbidden },
      { name: "page faults at leisure", command: call("userfaultfd", 0), says: absent },
      { name: "calls that no filter sees", command: call("io_uring_setup", 1, '"x" x 200'), says: absent },
      { name: "another kernel", command: call("kexec_load", 0, 0, 0, 0), says: forbidden },
      { name: "its power", command: call("reboot", 0xfee1dead, 672274793, 0), says: forbidden },
      { name: "its clock", command: call("settimeofday", 0, 0), says: forbidden },
      { name: "its swap", command: call("swapoff", '"/swap"'), says: forbidden },
      { name: "its accounts", command: call("acct", 0), says: forbidden },
      { name: "its log", command: call("syslog", 3, '"x" x 100', 100), says: forbidden },
      { name: "its name", command: call("sethostname", '"owned"', 5), says: forbidden },
      { name: "a user's keys", command: call("keyctl", 0, -4, 1), says: absent },
      { name: "a key for everybody", command: call("add_key", '"user"', '"k"', '"v"', 1, -4), says: absent },
      {
        name: "ways of old systems",
        command: call("personality", 0x0400000),
        says: /^refused: Invalid argument/,
      },
      {
        name: "its settings",
        command: `for f in kernel/core_pattern kernel/hostname vm/overcommit_memory kernel/ns_last_pid; do
          echo '|/tmp/x' > /proc/sys/$f && echo "wrote $f"; done; echo b > /proc/sysrq-trigger && echo "wrote sysrq"; echo end`,
        says: /^(?![\s\S]*wrote)(?:[\s\S]*(?:denied|not permitted|No such file)){5}[\s\S]*\nend\n$/,
      },
      {
        name: "its memory",
        command:
          "head -c1 /proc/kcore; head -c1 /proc/kmsg; head -c1 /dev/mem; head -c1 /dev/kmsg; grep -m1 ' T ' /proc/kallsyms",
        says: /^(?:head: .*(?:denied|not permitted|No such file).*\n){4}(?:0+ |grep: |$)/,
      },
    ],
  );
});

describe("devices, privileges and terminals", () => {
  attempts(
    () => ground,
    [
      {
        name: "a disk",
        command: "mknod disk b 8 0; mknod mem c 1 1; ls /dev | tr '\\n' ' '",
        says: /(?:[\s\S]*not permitted){2}[\s\S]*(?:(?:console|core|fd|full|null|ptmx|pts|random|shm|std\w+|tty|urandom|zero) )+$/,
      },
      {
        name: "programs that make root",
        command:
          "for p in su sudo pkexec newgrp; do timeout 2 $p -c id < /dev/null; done; find /usr/bin -perm -4000 | wc -l; grep -c 'NoNewPrivs:.1' /proc/self/status",
        says: /^(?![\s\S]*uid=0)[\s\S]*\n1\n$/,
      },
      {
        name: "a program of its own that makes root",
        command: `cp /usr/bin/id own && chmod 6755 own && ./own -u; ${call("setuid", 0)}; chown 0 own`,
        says: /^1000\nrefused: [\s\S]*chown: [\s\S]*(Invalid argument|not permitted)/,
      },
      {
        name: "capabilities of a file",
        command: `cp /usr/bin/id able; ${call("setxattr", '"able"', '"security.capability"', 'pack("VVVVV", 0x2000001, 0xffffffff, 0, 0, 0)', 20, 0)}`,
        says: forbidden,
      },
      {
        name: "words typed into the terminal of whoever started the worker",
        command: `perl -e 'open(my $t, "+<", "/dev/tty") or print "tty: $!\\n"; open(my $p, "+<", "/dev/ptmx") or die $!;
          my $c = "x"; ioctl($p, 0x5412, $c) and print "typed\\n" or print "pty: $!\\n"'`,
        says: /^tty: No such device or address\npty: Operation not permitted\n$/,
      },
    ],
  );
});

describe("sockets of other kinds", () => {
  const socket = (family: number, type: number, protocol: number) => call("socket", family, type, protocol);
  attempts(
    () => ground,
    [
      {
        name: "raw, to forge packets",
        command: socket(2, 3, 1),
        says: forbidden,
        ...(isRoot ? { outside: /^worked/ } : {}),
      },
      {
        name: "packets of a device",
        command: socket(17, 3, 768),
        says: /^refused: Address family not supported/,
        ...(isRoot ? { outside: /^worked/ } : {}),
      },
      {
        name: "to the hypervisor",
        command: socket(40, 1, 0),
        says: /^refused: Address family not supported/,
      },
      {
        name: "to the kernel's ciphers",
        command: socket(38, 5, 0),
        says: /^refused: Address family not supported/,
      },
      { name: "to the kernel's audit", command: socket(16, 3, 9), says: /^refused: Protocol not supported/ },
    ],
  );
});
