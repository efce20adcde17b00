import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explainBwrapError } from "../../src/sandboxes/local/bubblewrap.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { processTag } from "../../src/sandboxes/local/process/process-tag.ts";
import type { Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import {
  initsOf,
  inMs,
  isRoot,
  makeRoot,
  processesWith,
  run,
  silent,
  sleepersOf,
  until,
} from "./sandbox-support.ts";

const { root, remove } = makeRoot();
let provider: SandboxProvider;
let sandbox: Sandbox;

const open = (id: string = randomUUID()) => provider.open({ id, deadline: inMs(120_000), label: {} });

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  sandbox = await open("first");
});

afterAll(async () => {
  await sandbox?.close();
  await provider?.stop();
  await remove();
});

describe("a command", () => {
  test("streams stdout and stderr separately and returns the exit code", async () => {
    const chunks: string[] = [];
    const result = await sandbox.exec(
      "echo one; until [ -e go ]; do sleep 0.02; done; echo two >&2; exit 7",
      {
        signal: new AbortController().signal,
        timeoutMs: 20_000,
        onOutput: ({ stream, data }) => {
          chunks.push(`${stream}: ${data}`);
          if (chunks.length === 1) void sandbox.write("go", Buffer.from(""));
        },
      },
    );
    expect(chunks).toEqual(["stdout: one\n", "stderr: two\n"]);
    expect(result).toEqual({ exitCode: 7, timedOut: false, durationMs: expect.any(Number) });
  });

  test("keeps the order of its output if both streams are merged", async () => {
    const script = "for i in 1 2 3 4 5 6 7 8; do echo out $i; echo err $i >&2; done; echo e > /dev/stderr";
    const { stdout, stderr } = await run(sandbox, script, { mergeOutput: true });
    const lines = Array.from({ length: 8 }, (_, index) => `out ${index + 1}\nerr ${index + 1}\n`).join("");
    expect({ stdout, stderr }).toEqual({ stdout: `${lines}e\n`, stderr: "" });
    const spawned = await sandbox.spawn("echo a >&2; echo b", {
      ...{ signal: new AbortController().signal, mergeOutput: true },
    });
    const [output] = await Promise.all([text(spawned.stdout), text(spawned.stderr), spawned.ended]);
    expect(output).toBe("a\nb\n");
  });

  test("returns 128 + n if it ends itself with signal n", async () => {
    expect(await run(sandbox, "kill -TERM $$")).toMatchObject({ exitCode: 143, timedOut: false });
  });

  test("runs in /workspace with an empty stdin and can open its output by path", async () => {
    const { stdout, stderr } = await run(sandbox, "pwd; cat; echo a > /dev/stdout; echo b | tee /dev/stderr");
    expect({ stdout, stderr }).toEqual({ stdout: "/workspace\na\nb\n", stderr: "b\n" });
  });

  test("gets the given and the default environment, but nothing from the worker", async () => {
    const env = { GIVEN: "with = and\nnewline", BASH_ENV: "" };
    const { stdout } = await run(sandbox, "env -0", { env });
    const seen = Object.fromEntries(stdout.split("\0").flatMap((line) => [line.split(/=(.*)/s).slice(0, 2)]));
    const { PATH, PWD, SHLVL, _, "": _end, ...rest } = seen;
    expect(rest).toEqual({
      GIVEN: env.GIVEN,
      BASH_ENV: "",
      HOME: "/home/sandbox",
      LANG: "C.UTF-8",
      LOGNAME: "sandbox",
      SHELL: "/bin/bash",
      TERM: "dumb",
      USER: "sandbox",
    });
    expect(PATH).toBe("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    await expect(run(sandbox, "true", { env: { "no-name": "" } })).rejects.toThrow(
      "not a valid name for an environment variable",
    );
  });

  test("finds git and Python, and can write to its home and /tmp", async () => {
    const { stdout, stderr } = await run(
      sandbox,
      `git init -q repo && git -C repo -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
       git -C repo log --format=%s; ls -A repo; python3 -c 'import ssl, tempfile; print(tempfile.mkdtemp()[:5])'
       touch ~/x /tmp/y && whoami && getent hosts sandbox | grep -o sandbox`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: "first\n.git\n/tmp/\nsandbox\nsandbox\n", stderr: "" });
  });

  test("is rejected if it is longer than Linux allows or already aborted", async () => {
    await expect(run(sandbox, `: ${"x".repeat(131_072)}`)).rejects.toThrow("longer than 128 KiB");
    await expect(run(sandbox, "touch ran", { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
    expect((await run(sandbox, "ls ran")).exitCode).not.toBe(0);
  });

  test("cannot lock out the next command", async () => {
    await run(sandbox, "chmod 000 /workspace /tmp ~");
    expect((await run(sandbox, "touch /workspace/a /tmp/a ~/a && echo open")).stdout).toBe("open\n");
  });

  test("is killed if onOutput throws, and rejects with that error", async () => {
    const marker = `4000.${Date.now()}1`;
    const onOutput = () => {
      throw new Error("full");
    };
    await expect(run(sandbox, `echo; sleep ${marker}`, { onOutput })).rejects.toThrow("full");
    expect(processesWith(marker)).toEqual([]);
  });

  test("uses no memory of the worker for endless output", async () => {
    let bytes = 0;
    let maxRss = 0;
    const before = process.memoryUsage.rss();
    const onOutput = ({ data }: { data: Buffer }) => {
      bytes += data.length;
      maxRss = Math.max(maxRss, process.memoryUsage.rss());
    };
    const result = await run(sandbox, "yes", { timeoutMs: 2000, onOutput });
    expect(result).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: true });
    expect(bytes).toBeGreaterThan(1e6);
    expect(maxRss - before).toBeLessThan(200e6);
  });

  test("runs concurrently with others in the same sandbox", async () => {
    const all = await Promise.all(
      Array.from({ length: 24 }, (_, n) => run(sandbox, `echo ${n}; echo ${n} >&2`)),
    );
    expect(all.map(({ stdout }) => Number(stdout))).toEqual(all.map((_, n) => n));
    expect(all.map(({ stderr }) => Number(stderr))).toEqual(all.map((_, n) => n));
  });
});

describe("background processes of a command", () => {
  /** Starts children in every way that outlives a parent. All have the marker in their command line. */
  const stubborn = (marker: string) => `
    setsid sleep ${marker} &
    nohup sleep ${marker} > /dev/null 2>&1 &
    (setsid bash -c 'trap "" TERM INT HUP; while :; do sleep ${marker}; done' > /dev/null 2>&1 &)
    disown -a`;
  const spawnStubborn = (marker: string, then: string) =>
    `${stubborn(marker)}\n trap "" TERM INT HUP\n ${then}`;
  let count = 0;
  const makeMarker = () => `5000.${Date.now()}${++count}`;

  test("run on, reachable by the next command, until the sandbox is killed", async () => {
    const marker = makeMarker();
    const own = await open();
    const waitForAll = `until [ $(pgrep -c -x sleep) = 3 ]; do sleep 0.02; done; echo up`;
    const { stdout, exitCode } = await run(own, `${stubborn(marker)}\n ${waitForAll}`);
    expect({ stdout, exitCode }).toEqual({ stdout: "up\n", exitCode: 0 });
    await run(
      own,
      "python3 -m http.server 8000 --bind 127.0.0.1 > /dev/null 2>&1 & echo served > index.html",
    );
    const get =
      "exec 3<> /dev/tcp/127.0.0.1/8000 && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && tail -n 1 <&3";
    await until(async () => (await run(own, get)).stdout === "served\n");
    expect((await run(own, "pgrep -c -x sleep; pgrep -c python3")).stdout).toBe("3\n1\n");
    await own.kill();
    expect(processesWith(marker)).toEqual([]);
    expect((await run(own, "pgrep -c -x sleep; cat index.html")).stdout).toBe("0\nserved\n");
    await own.close();
  });

  test("can print after their command, without blocking and unseen", async () => {
    const own = await open();
    const late =
      "(until [ -e go ]; do sleep 0.02; done; head -c 1000000 /dev/zero; touch finished) & echo up";
    expect((await run(own, late)).stdout).toBe("up\n");
    await own.write("go", Buffer.from(""));
    await until(async () => (await run(own, "ls finished")).exitCode === 0);
    await own.close();
  });

  test("are killed after a timeout", async () => {
    const marker = makeMarker();
    const running = run(sandbox, spawnStubborn(marker, "while :; do sleep 1; done"), { timeoutMs: 1500 });
    await until(() => sleepersOf(marker).length === 3);
    expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: true });
    expect(processesWith(marker)).toEqual([]);
  });

  test("are killed after an abort at any moment", async () => {
    for (const wait of [0, 1, 2, 4, 8, 16, 32, undefined]) {
      const marker = makeMarker();
      const controller = new AbortController();
      const command = spawnStubborn(marker, "while :; do sleep 1; done");
      const running = run(sandbox, command, { signal: controller.signal });
      if (wait === undefined) {
        await until(() => sleepersOf(marker).length === 3);
        controller.abort();
      } else {
        setTimeout(() => controller.abort(), wait);
      }
      expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: false });
      expect(processesWith(marker)).toEqual([]);
    }
  });

  test("are killed by kill, which affects only this sandbox and keeps its files", async () => {
    const other = await open();
    const [marker, otherMarker] = [makeMarker(), makeMarker()];
    const running = run(sandbox, spawnStubborn(marker, `touch kept; sleep ${marker}`));
    const running2 = run(other, `sleep ${otherMarker}`);
    await until(() => sleepersOf(marker).length === 4 && sleepersOf(otherMarker).length === 1);
    await sandbox.kill();
    expect(processesWith(marker)).toEqual([]);
    expect(processesWith(otherMarker)).not.toEqual([]);
    expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: false });
    expect((await run(sandbox, "ls kept")).exitCode).toBe(0);
    await other.close();
    expect(await running2).toMatchObject({ signal: "SIGKILL" });
    expect(processesWith(otherMarker)).toEqual([]);
    await expect(run(other, "true")).rejects.toThrow("closed");
  });
});

describe("a hostile command", () => {
  let own: Sandbox;
  beforeAll(async () => {
    own = await open();
  });
  afterAll(() => own?.close());
  const expectWorking = async () => expect((await run(own, "echo on")).stdout).toBe("on\n");

  test("ends itself when it kills all processes, with its descendants, and the next command runs", async () => {
    const marker = `4100.${Date.now()}`;
    const other = run(own, `sleep ${marker}`);
    await until(() => sleepersOf(marker).length === 1);
    const all = await run(own, `setsid sleep ${marker} & kill -9 -1; while :; do :; done`);
    expect(all).toMatchObject({ exitCode: 137, timedOut: false });
    expect(await other).toMatchObject({ exitCode: 137 });
    expect(processesWith(marker)).toEqual([]);
    await expectWorking();
  });

  test("loses the processes that it left behind when it kills their supervisor", async () => {
    const marker = `4200.${Date.now()}`;
    await run(own, `setsid sleep ${marker} > /dev/null 2>&1 &`);
    await until(() => sleepersOf(marker).length === 1);
    await run(own, `kill -9 $(ps -o ppid= -C sleep)`);
    await until(() => processesWith(marker).length === 0);
    await expectWorking();
  });

  test("cannot stop its supervisor or init", async () => {
    expect((await run(own, "kill -STOP -1; kill -STOP 1; kill -9 1; exit 5")).exitCode).toBe(5);
    await expectWorking();
  });

  test("cannot attach to init or to its supervisor", async () => {
    const { stdout } = await run(
      own,
      "for p in 1 $PPID; do perl -e 'print syscall(101, 16, $ARGV[0] + 0, 0, 0) < 0 ? $! : 0' $p; readlink -v /proc/$p/fd/3; cat /proc/$p/environ; done 2>&1",
    );
    expect(stdout).toMatch(process.arch === "x64" ? /^Operation not permitted/ : /denied/);
    expect(stdout.match(/denied/g)).toHaveLength(4);
  });

  test("that forks without end is killed with all its descendants", async () => {
    const marker = `4300.${Date.now()}`;
    const forks = `perl -e 'for (1..50) { next if fork; setpgrp; while (1) { fork and exit; select undef, undef, undef, 0.001 } } exec "sleep", "${marker}"'`;
    expect(await run(own, forks, { timeoutMs: 1000 })).toMatchObject({ timedOut: true, signal: "SIGKILL" });
    expect((await run(own, "pgrep -c perl")).stdout).toBe("0\n");
    expect(processesWith(marker)).toEqual([]);
  });

  test("ends when init is killed, and the next command gets a new one", async () => {
    const marker = `4400.${Date.now()}`;
    const before = initsOf(processTag);
    const fresh = await open();
    const running = run(fresh, `sleep ${marker}`);
    await until(() => sleepersOf(marker).length === 1);
    const [init = 0] = initsOf(processTag).filter((pid) => !before.includes(pid));
    process.kill(init, "SIGKILL");
    expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: false });
    expect(processesWith(marker)).toEqual([]);
    expect((await run(fresh, "echo on")).stdout).toBe("on\n");
    await fresh.close();
  });
});

describe("a terminal", () => {
  test("has the given size, can be resized and ends with its command", async () => {
    const { signal } = new AbortController();
    const script = "trap 'stty size; exit 4' WINCH; stty size; while :; do sleep 0.01; done";
    const spawned = await sandbox.spawn(script, { signal, terminal: { rows: 24, columns: 80 } });
    let output = "";
    spawned.stdout.on("data", (data) => {
      output += data;
    });
    await until(() => output === "24 80\r\n");
    spawned.resize({ rows: 50, columns: 132 });
    expect(await spawned.ended).toEqual({ exitCode: 4 });
    await until(() => spawned.stdout.readableEnded);
    expect(output).toBe("24 80\r\n50 132\r\n");
  });

  test("passes input on and sends signals", async () => {
    const { signal } = new AbortController();
    const spawned = await sandbox.spawn("tty; cat; echo next; cat", {
      signal,
      terminal: { rows: 1, columns: 9 },
    });
    let output = "";
    spawned.stdout.on("data", (data) => {
      output += data;
    });
    await until(() => /^\/dev\/pts\/\d\r\n$/.test(output));
    spawned.stdin.write("typed\n\x04");
    await until(() => output.includes("next\r\n"));
    expect(output).toMatch(/\d\r\ntyped\r\ntyped\r\nnext\r\n$/);
    spawned.stdin.write("\x03");
    expect(await spawned.ended).toEqual({ exitCode: 130 });
  });
});

describe("a sandbox", () => {
  test("runs as an unprivileged user inside and on the host, even if the worker is root", async () => {
    const marker = `6000.${Date.now()}`;
    const other = await open();
    const uids: number[] = [];
    for (const each of [sandbox, other]) {
      expect((await run(each, "id -u; id -g")).stdout).toBe("1000\n1000\n");
      const running = run(each, `sleep ${marker}`);
      await until(() => sleepersOf(marker).length === 1);
      for (const pid of processesWith(marker)) {
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        uids.push(Number(/^Uid:\t(\d+)/m.exec(status)?.[1]));
      }
      await each.kill();
      await running;
    }
    expect(uids).not.toContain(0);
    // All sandboxes share one uid, because they share the files of a base.
    expect(new Set(uids).size).toBe(1);
    if (isRoot) expect(Math.min(...uids)).toBeGreaterThanOrEqual(21500);
    else expect(new Set(uids)).toEqual(new Set([process.getuid?.()]));
    await other.close();
  });

  test("has no capabilities, cannot gain any and cannot create a user namespace", async () => {
    const { stdout } = await run(sandbox, "grep -E '^(Cap|NoNewPrivs)' /proc/self/status /proc/1/status");
    const sets = stdout
      .trim()
      .split("\n")
      .map((line) => line.split(":\t"));
    expect(sets).toHaveLength(12);
    for (const [name, value] of sets) {
      expect([name, value]).toEqual([name, name?.includes("NoNewPrivs") ? "1" : "0000000000000000"]);
    }
    for (const attempt of [
      "unshare -U true",
      "unshare -r true",
      "unshare -m true",
      "mount -t tmpfs x /tmp",
    ]) {
      expect([attempt, (await run(sandbox, attempt)).exitCode]).not.toEqual([attempt, 0]);
    }
  });

  test("has no network, not even to the host", async () => {
    const server = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
    await until(() => server.listening);
    const { port } = server.address() as { port: number };
    const { stdout } = await run(
      sandbox,
      "tail -n +3 /proc/net/dev | cut -d: -f1; tail -n +2 /proc/net/unix",
    );
    expect(stdout.trim()).toBe("lo");
    for (const address of [`127.0.0.1/${port}`, "1.1.1.1/80", "169.254.169.254/80"]) {
      const attempt = await run(sandbox, `timeout 5 bash -c 'cat < /dev/tcp/${address}'`);
      expect(attempt).toMatchObject({ exitCode: 1, stdout: "" });
      expect(attempt.stderr).toMatch(/refused|unreachable/);
    }
    server.close();
  });

  test("sees only the host's programs, read-only", async () => {
    const repository = join(import.meta.dirname, "..", "..", "..", "..");
    const hidden = [
      repository,
      root,
      "/root",
      "/var",
      "/run",
      "/sys",
      "/boot",
      "/etc/shadow",
      "/etc/machine-id",
    ];
    expect((await run(sandbox, `stat ${hidden.join(" ")}`)).stdout).toBe("");
    expect((await run(sandbox, "ls -A /home")).stdout).toBe("sandbox\n");
    expect((await run(sandbox, "cat /etc/passwd")).stdout).toMatch(/^root:.*\nsandbox:.*\n$/);
    const places = ["/usr/x", "/bin/x", "/etc/x", "/x", "/dev/x", "/home/x", "/proc/x", "/etc/passwd"];
    const { stdout } = await run(sandbox, `for x in ${places.join(" ")}; do echo > $x && echo $x; done`);
    expect(stdout).toBe("");
  });

  test("sees its mounts and can write only to writable ones", async () => {
    const shared = mkdtempSync(join(tmpdir(), "outrider-mount-"));
    chmodSync(shared, 0o777);
    writeFileSync(join(shared, "given"), "from outside\n", { mode: 0o644 });
    const mounts = [
      { source: shared, target: "/cache", writable: false },
      { source: shared, target: "/outbox", writable: true },
    ];
    const other = makeRoot();
    const withMounts = await openLocalProvider({ root: other.root, mounts, log: silent });
    const inside = await withMounts.open({ id: randomUUID(), deadline: inMs(60_000), label: {} });
    expect((await run(inside, "cat /cache/given; echo x > /cache/new")).stdout).toBe("from outside\n");
    expect(readdirSync(shared)).toEqual(["given"]);
    expect((await run(inside, "echo written > /outbox/new")).exitCode).toBe(0);
    expect(readFileSync(join(shared, "new"), "utf8")).toBe("written\n");
    expect((await run(sandbox, "ls -d /cache /outbox")).stdout).toBe("");
    await inside.close();
    expect(readdirSync(shared)).toEqual(["given", "new"]);
    await withMounts.stop();
    await other.remove();
    rmSync(shared, { recursive: true });
  });

  test("sees only its own processes and none of the worker's files or variables", async () => {
    const { stdout } = await run(sandbox, "cat /proc/[0-9]*/comm; cat /proc/*/environ | tr '\\0' '\\n'");
    expect(stdout.split("\n").filter((line) => !line.includes("="))).toEqual([
      ...["outrider-init", "outrider-sup", "bash", ""],
    ]);
    expect(stdout).not.toContain("VITEST");
    const files = await run(sandbox, "echo /proc/$$/fd/*; readlink /proc/1/fd/* /proc/$PPID/fd/*");
    expect(files.stdout).toMatch(/^(\/proc\/\d+\/fd\/[0-3] ?){3,4}\n$/);
  });

  test("cannot see another sandbox", async () => {
    const other = await open();
    await run(other, "echo hidden | tee /workspace/secret /tmp/secret ~/secret");
    const { stdout } = await run(
      sandbox,
      "cat /workspace/secret /tmp/secret ~/secret; ls /tmp /workspace/..",
    );
    expect(stdout).not.toMatch(/hidden|secret/);
    expect(statSync(join(root, other.id)).mode & 0o7).toBe(0);
    await other.close();
  });

  test("explains how to fix a failed bubblewrap", () => {
    expect(explainBwrapError("spawn bwrap ENOENT")).toContain("install the package bubblewrap");
    expect(explainBwrapError("nsenter: failed to execute bwrap: No such file or directory")).toContain(
      "install the package bubblewrap",
    );
    expect(explainBwrapError("spawn nsenter ENOENT")).toContain("install the package util-linux");
    expect(explainBwrapError("sh: 9: mount: not found")).toContain("install the package util-linux");
    expect(explainBwrapError("bwrap: Unknown option --disable-userns")).toContain(
      "install bubblewrap 0.8.0 or newer",
    );
    expect(explainBwrapError("bwrap: No permissions to create new namespace")).toContain(
      "user.max_user_namespaces",
    );
    expect(explainBwrapError("bwrap: setting up uid map: Permission denied")).toContain("apparmor_restrict");
    expect(explainBwrapError("bwrap: Can't find source path /root/x: Permission denied")).toContain(
      "/var/lib/outrider",
    );
    expect(explainBwrapError("")).toContain("no reason");
  });
});
