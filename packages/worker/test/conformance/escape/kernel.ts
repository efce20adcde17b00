import { describe, expect, test } from "vitest";
import { syscall } from "../../escape/syscalls.ts";
import { isRoot, run } from "../../sandboxes/sandbox-support.ts";
import type { Place } from "../place.ts";
import { describeEscapes, testAttempts } from "./escape-fixture.ts";

/** The system calls, devices and settings of the kernel that the sandbox shares. */
export function testKernelEscapes(place: Place): void {
  describeEscapes("kernel", place, (getFixture) => {
    /** What root in an image may do in the files, users and network of its sandbox. */
    const asUser = !place.system.isImage;

    const forbidden = /^refused: Operation not permitted/;
    const notImplemented = /^refused: Function not implemented/;

    test("an attacker can make system calls, so the attempts below are real", async () => {
      const { stdout } = await run(
        getFixture().sandbox,
        `${syscall("getpid")}; ${syscall("personality", 0)}`,
      );
      expect(stdout).toMatch(
        place.system.hasOwnKernel ? /^worked: \d+\nrefused: / : /^worked: \d+\nworked: \d+\n$/,
      );
    });

    describe("mounts and roots", () => {
      testAttempts(getFixture, [
        {
          name: "mounting over a folder",
          command: syscall("mount", '"x"', '"/tmp"', '"tmpfs"', 0, 0),
          expected: forbidden,
        },
        ...(asUser
          ? [
              {
                name: "remounting programs as writable",
                command: "mount -o remount,rw /usr; touch /usr/x",
                expected: /Read-only|must be superuser[\s\S]*Permission denied/,
              },
            ]
          : []),
        { name: "unmounting /etc", command: syscall("umount2", '"/etc"', 2), expected: forbidden },
        {
          name: "mounting with the newer calls",
          command: syscall("fsopen", '"tmpfs"', 0),
          expected: notImplemented,
        },
        {
          name: "copying a mount",
          command: syscall("open_tree", -100, '"/usr"', 1),
          expected: notImplemented,
        },
        {
          name: "pivot_root",
          command: syscall("pivot_root", '"/workspace"', '"/workspace"'),
          expected: forbidden,
        },
        { name: "chroot", command: syscall("chroot", '"/workspace"'), expected: forbidden },
        {
          name: "opening a file by its handle, which bypasses mounts",
          command: syscall("open_by_handle_at", -100, "pack(q(Ii a16), 8, 1, 2)", 0),
          expected: forbidden,
        },
        {
          name: "cgroup release agents, which run on the host",
          command:
            "mkdir -p c; mount -t cgroup -o memory x c; ls /sys; find / -xdev -name release_agent 2> /dev/null; echo end",
          expected: place.system.hasSys
            ? /^mount: .*(not permitted|superuser|denied)(?![\s\S]*release_agent)[\s\S]*\nend\n$/
            : /(not permitted|superuser|denied)[\s\S]*cannot access '\/sys'[\s\S]*\nend\n$/,
        },
      ]);
    });

    describe("namespaces", () => {
      testAttempts(getFixture, [
        {
          name: "becoming root in a user namespace",
          command: "unshare --user --map-root-user id -u",
          expected: /^unshare: .*not permitted/,
          inOwnKernel: /^0\n$/,
          onHost: /^0\n/,
        },
        {
          name: "a user namespace through clone",
          command: syscall("clone", 0x10000011, 0, 0, 0, 0),
          expected: forbidden,
          inOwnKernel: /^worked/,
        },
        {
          name: "clone3, whose flags a filter cannot read",
          command: syscall("clone3", 0, 0),
          expected: notImplemented,
        },
        {
          name: "entering the namespaces of process 1 and of another process",
          command: "nsenter --target 1 --mount --net --ipc true; nsenter --mount=/proc/self/ns/mnt true",
          expected: /Permission denied[\s\S]*not permitted/,
          inOwnKernel: /^(?:nsenter: .*not permitted\n){2}$/,
        },
      ]);
    });

    describe("the kernel itself", () => {
      testAttempts(getFixture, [
        { name: "loading a module", command: syscall("init_module", '"x"', 1, '""'), expected: forbidden },
        {
          name: "loading a module from a file",
          command: syscall("finit_module", 0, '""', 0),
          expected: forbidden,
        },
        {
          name: "unloading a module",
          command: syscall("delete_module", '"overlay"', 2048),
          expected: forbidden,
        },
        { name: "a BPF program", command: syscall("bpf", 0, 0, 0), expected: forbidden },
        {
          name: "performance counters",
          command: syscall("perf_event_open", 0, -1, 0, -1, 0),
          expected: forbidden,
        },
        { name: "userfaultfd", command: syscall("userfaultfd", 0), expected: notImplemented },
        {
          name: "io_uring, which bypasses the filter",
          command: syscall("io_uring_setup", 1, '"x" x 200'),
          expected: notImplemented,
        },
        { name: "kexec", command: syscall("kexec_load", 0, 0, 0, 0), expected: forbidden },
        { name: "reboot", command: syscall("reboot", 0xfee1dead, 672274793, 0), expected: forbidden },
        { name: "setting the clock", command: syscall("settimeofday", 0, 0), expected: forbidden },
        { name: "disabling swap", command: syscall("swapoff", '"/swap"'), expected: forbidden },
        { name: "process accounting", command: syscall("acct", 0), expected: forbidden },
        {
          name: "reading the kernel log",
          command: syscall("syslog", 3, '"x" x 100', 100),
          expected: forbidden,
          inOwnKernel: /^worked/,
        },
        { name: "setting the host name", command: syscall("sethostname", '"owned"', 5), expected: forbidden },
        { name: "reading a keyring", command: syscall("keyctl", 0, -4, 1), expected: notImplemented },
        {
          name: "adding a key",
          command: syscall("add_key", '"user"', '"k"', '"v"', 1, -4),
          expected: notImplemented,
        },
        {
          name: "an old personality",
          command: syscall("personality", 0x0400000),
          expected: /^refused: Invalid argument/,
        },
        {
          name: "kernel settings in /proc",
          command: `for f in kernel/core_pattern kernel/hostname vm/overcommit_memory kernel/ns_last_pid; do
          echo '|/tmp/x' > /proc/sys/$f && echo "wrote $f"; done; echo b > /proc/sysrq-trigger && echo "wrote sysrq"; echo end`,
          expected:
            /^(?![\s\S]*wrote)(?:[\s\S]*(?:denied|not permitted|No such file|Read-only file system)){5}[\s\S]*\nend\n$/,
          inOwnKernel:
            /^(?![\s\S]*wrote)(?:.*(?:not permitted|denied|Input.output error|No such file|Read-only).*\n){5}end\n$/,
        },
        {
          name: "kernel memory",
          command:
            "head -c1 /proc/kcore; head -c1 /proc/kmsg; head -c1 /dev/mem; head -c1 /dev/kmsg; grep -m1 ' T ' /proc/kallsyms",
          expected: /^(?:head: .*(?:denied|not permitted|No such file).*\n){4}(?:0+ |grep: |$)/,
        },
      ]);
    });

    describe("devices, privileges and terminals", () => {
      testAttempts(getFixture, [
        {
          name: "creating a disk device",
          command: "mknod disk b 8 0; mknod mem c 1 1; ls /dev | tr '\\n' ' '",
          expected:
            /(?:[\s\S]*not permitted){2}[\s\S]*(?:(?:console|core|fd|full|mqueue|null|ptmx|pts|random|shm|std\w+|tty|urandom|zero) )+$/,
        },
        ...(asUser
          ? [
              {
                name: "setuid programs",
                command:
                  "for p in su sudo pkexec newgrp; do timeout 2 $p -c id < /dev/null; done; find /usr/bin -perm -4000 | wc -l; grep -c 'NoNewPrivs:.1' /proc/self/status",
                expected: /^(?![\s\S]*uid=0)[\s\S]*\n1\n$/,
                // gVisor does not list the flag.
                inOwnKernel: /^(?![\s\S]*uid=0)[\s\S]*\n0\n$/,
              },
            ]
          : []),
        ...(asUser
          ? [
              {
                name: "a new setuid program",
                command: `cp /usr/bin/id own && chmod 6755 own && ./own -u; ${syscall("setuid", 0)}; chown 0 own`,
                expected: /^1000\nrefused: [\s\S]*chown: [\s\S]*(Invalid argument|not permitted)/,
              },
            ]
          : []),
        ...(asUser
          ? [
              {
                name: "file capabilities",
                command: `cp /usr/bin/id able; ${syscall("setxattr", '"able"', '"security.capability"', 'pack("VVVVV", 0x2000001, 0xffffffff, 0, 0, 0)', 20, 0)}`,
                expected: forbidden,
              },
            ]
          : []),
        {
          name: "input into the worker's terminal",
          command: `perl -e 'open(my $t, "+<", "/dev/tty") or print "tty: $!\\n"; open(my $p, "+<", "/dev/ptmx") or die $!;
          my $c = "x"; ioctl($p, 0x5412, $c) and print "typed\\n" or print "pty: $!\\n"'`,
          expected: /^tty: No such device or address\npty: Operation not permitted\n$/,
          inOwnKernel: /^tty: Input.output error\npty: Inappropriate ioctl for device\n$/,
        },
      ]);
    });

    describe("unusual sockets", () => {
      const socket = (family: number, type: number, protocol: number) =>
        syscall("socket", family, type, protocol);
      testAttempts(getFixture, [
        ...(asUser
          ? [
              {
                name: "raw sockets",
                command: socket(2, 3, 1),
                expected: forbidden,
                ...(isRoot ? { onHost: /^worked/ } : {}),
              },
            ]
          : []),
        {
          name: "packet sockets",
          command: socket(17, 3, 768),
          expected: /^refused: Address family not supported/,
          ...(isRoot ? { onHost: /^worked/ } : {}),
        },
        {
          name: "vsock to the hypervisor",
          command: socket(40, 1, 0),
          expected: /^refused: Address family not supported/,
        },
        {
          name: "the kernel's crypto API",
          command: socket(38, 5, 0),
          expected: /^refused: Address family not supported/,
        },
        {
          name: "the kernel's audit netlink",
          command: socket(16, 3, 9),
          expected: /^refused: Protocol not supported/,
        },
      ]);
    });
  });
}
