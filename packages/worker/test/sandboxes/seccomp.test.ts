import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { buildPortableSeccompFilter, buildSeccompFilter } from "../../src/sandboxes/seccomp/build-filter.ts";
import { runFilter } from "./bpf-interpreter.ts";

const program = fileURLToPath(new URL("seccomp-probe.py", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "outrider-seccomp-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const filter = buildSeccompFilter();
if (!filter) throw new Error(`There is no filter for ${process.arch}. These tests require x64 or arm64.`);
const filterFile = join(folder, "filter");
writeFileSync(filterFile, filter);

/** Runs a program with all capabilities in a user namespace, so that only the filter can refuse a call. */
function runInBwrap(argv: string[], { filtered }: { filtered: boolean }): string {
  const fd = openSync(filterFile, "r");
  const user = ["--unshare-all", "--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "ALL"];
  const files = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", folder, folder];
  const options = [...user, ...files, "--chdir", folder, "--die-with-parent", "--setenv", "HOME", folder];
  try {
    const { status, stdout, stderr } = spawnSync(
      "bwrap",
      [...options, ...(filtered ? ["--seccomp", "3"] : []), "--", ...argv],
      { stdio: ["ignore", "pipe", "pipe", fd], encoding: "utf8", timeout: 25_000 },
    );
    if (status !== 0) throw new Error(`${argv[0]} ended with ${status}: ${stdout}${stderr}`);
    return stdout;
  } finally {
    closeSync(fd);
  }
}

const onX64 = (...names: string[]) => (process.arch === "x64" ? names : []);

const refused: Record<string, string[]> = {
  EPERM: [
    ...["unshare user", "unshare time", "clone pid", "setns"],
    ...["mount", "umount2", "pivot_root", "chroot", "open_by_handle_at"],
    ...["bpf", "perf_event_open", "kexec_load", "kexec_file_load", "reboot", "vhangup"],
    ...["init_module", "finit_module", "delete_module", "swapon", "swapoff", "acct", "syslog"],
    ...["quotactl", "quotactl_fd", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime"],
    ...["sethostname", "setdomainname", ...onX64("iopl", "ioperm")],
    ...["ioctl TIOCSTI", "ioctl TIOCSTI high", "ioctl TIOCLINUX", "ioctl TIOCSETD"],
  ],
  ENOSYS: [
    ...["clone3", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick"],
    ...["mount_setattr", "open_tree_attr", "add_key", "request_key", "keyctl", "userfaultfd"],
    ...["io_uring_setup", "io_uring_enter", "io_uring_register", ...onX64("modify_ldt", "x32 getpid")],
  ],
  ENOTSUP: ["name_to_handle_at"],
  EINVAL: ["personality read implies exec"],
  EAFNOSUPPORT: ["socket vsock", "socket packet", "socket alg", "socketpair tipc"],
  EPROTONOSUPPORT: ["socket netfilter", "socket mptcp"],
  ESOCKTNOSUPPORT: ["socket dccp"],
  SIGSYS: onX64("i386 getpid"),
};

const allowed = [
  ...["unshare files", "personality query", "personality without randomness", "ptrace", "process_vm_readv"],
  ...["socket unix seqpacket", "socket tcp", "socket udp6", "socket route", "socketpair unix"],
];

describe("a filtered command", () => {
  const filtered: Record<string, string> = JSON.parse(runInBwrap(["python3", program], { filtered: true }));
  const open: Record<string, string> = JSON.parse(runInBwrap(["python3", program], { filtered: false }));
  const callsWith = (result: string) => Object.keys(filtered).filter((name) => filtered[name] === result);

  test.each(Object.keys(refused))("gets %s for forbidden calls", (result) => {
    expect(callsWith(result).sort()).toEqual(refused[result]?.sort());
  });

  test("can make the other calls", () => {
    expect(callsWith("ok").sort()).toEqual(allowed.sort());
  });

  test("gets these results from the filter: without it, most calls get further", () => {
    const unchanged = Object.keys(filtered).filter(
      (name) => filtered[name] === open[name] && !allowed.includes(name),
    );
    // The kernel reserves these for the host's root, or does not support them on every host.
    const hostOnly = ["acct", "settimeofday", "swapon", "swapoff", "syslog", "vhangup"];
    const oftenMissing = [
      ...["socket alg", "socket dccp", "socket mptcp", "socket vsock", "socketpair tipc", "x32 getpid"],
      ...["open_tree_attr", "userfaultfd", "modify_ldt", "i386 getpid", "reboot", "perf_event_open", "bpf"],
    ];
    expect(unchanged.filter((name) => !hostOnly.includes(name) && !oftenMissing.includes(name))).toEqual([]);
  });

  test("can use git, threads, processes, sockets and a database", () => {
    const git =
      "git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m c && git log";
    expect(runInBwrap(["sh", "-c", git], { filtered: true })).toContain("Author: a");

    const node = `
      const { Worker } = require("node:worker_threads");
      const net = require("node:net");
      const { spawnSync } = require("node:child_process");
      const server = net.createServer((socket) => socket.end(spawnSync("echo", ["child"]).stdout)).listen(0, () => {
        const port = server.address().port;
        const code = "require('node:net').connect(" + port + ", '127.0.0.1').pipe(process.stdout)";
        new Worker(code, { eval: true }).on("exit", () => server.close());
      });`;
    expect(runInBwrap([process.execPath, "-e", node], { filtered: true })).toBe("child\n");

    const python = `
import asyncio, concurrent.futures, multiprocessing, sqlite3, subprocess
with concurrent.futures.ThreadPoolExecutor(4) as pool: print(sum(pool.map(int, "1234")))
with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(len, ["a", "bb"]))
print(sqlite3.connect("db").execute("select 7").fetchone(), subprocess.check_output(["echo", "sub"]))
async def main():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    print(await reader.read())
asyncio.run(main())`;
    expect(runInBwrap(["python3", "-c", python], { filtered: true })).toBe(
      "10\n[1, 2]\n(7,) b'sub\\n'\nb''\n",
    );
  });
});

describe("the seccomp filter", () => {
  const [allow, kill, eperm, enosys] = [0x7fff0000, 0x80000000, 0x00050001, 0x00050026];
  const arm64 = buildSeccompFilter("arm64") as Buffer;
  const onArm = (nr: number, ...args: number[]) => runFilter(arm64, { arch: 0xc00000b7, nr, args });

  test("uses the call numbers of aarch64", () => {
    expect([39, 40, 41, 51, 97, 106, 142, 265, 268].map((nr) => onArm(nr, 0x10000000))).toEqual(
      Array(9).fill(eperm),
    );
    expect([217, 219, 282, 425, 428, 433, 435, 442].map((nr) => onArm(nr))).toEqual(Array(8).fill(enosys));
    // close, getpid, execve, openat; then threads and forks as libc creates them
    expect([57, 172, 221, 56].map((nr) => onArm(nr))).toEqual(Array(4).fill(allow));
    expect([onArm(220, 0x003d0f00), onArm(220, 0x01200011)]).toEqual([allow, allow]);
    expect([onArm(198, 1, 1, 0), onArm(198, 2, 1, 6), onArm(198, 40, 1, 0)]).toEqual([
      allow,
      allow,
      0x00050061,
    ]);
  });

  test("kills a process that uses another architecture's calls", () => {
    expect(runFilter(arm64, { arch: 0x40000028, nr: 20, args: [] })).toBe(kill);
    expect(runFilter(filter, { arch: 0x40000003, nr: 20, args: [] })).toBe(kill);
  });

  test("for any node decides like that of the node's architecture", () => {
    const portable = buildPortableSeccompFilter();
    const x64 = buildSeccompFilter("x64") as Buffer;
    const numbers = Array.from({ length: 500 }, (_, nr) => nr);
    for (const [arch, own] of [
      [0xc000003e, x64],
      [0xc00000b7, arm64],
    ] as const) {
      const decide = (program: Buffer) =>
        numbers.map((nr) => runFilter(program, { arch, nr, args: [40, 1, 0] }));
      expect(decide(portable)).toEqual(decide(own));
      expect(new Set(decide(own)).size).toBeGreaterThan(3);
    }
    expect(runFilter(portable, { arch: 0x40000003, nr: 20, args: [] })).toBe(kill);
  });

  test("is short, and does not exist for untested architectures", () => {
    expect(filter.length / 8).toBeLessThan(128);
    expect(buildSeccompFilter("riscv64")).toBeUndefined();
  });
});
