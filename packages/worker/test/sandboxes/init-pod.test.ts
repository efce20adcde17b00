/** `outrider-init` as the first process of a container in a pod, in namespaces of its own instead of a pod. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { InitConnection, type StartOptions } from "../../src/sandboxes/init/init-connection.ts";
import { isRoot, until } from "./sandbox-support.ts";

const program = fileURLToPath(new URL("../../native/build/outrider-init", import.meta.url));
const token = "a".repeat(64);
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

interface Pod {
  /** The pid of init, as this machine sees it. */
  pid: number;
  init: ChildProcess;
  /** Starts `outrider-init connect` in the namespaces of the pod. */
  connect(options?: { token?: string; deadlineMs?: number; name?: string }): {
    connection: InitConnection;
    client: ChildProcess;
  };
  /** Starts any other program there, as `kubectl exec` does. */
  enter(argv: string[]): ChildProcess;
}

async function startPod(stayMs = 60_000): Promise<Pod> {
  const unshare = ["--pid", "--net", "--ipc", "--fork", "--mount-proc", "--kill-child"];
  const init = spawn("unshare", [...unshare, program, "pod", "commands", token, String(stayMs)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  children.push(init);
  const childrenOf = () => readFileSync(`/proc/${init.pid}/task/${init.pid}/children`, "utf8").trim();
  await until(() => childrenOf() !== "" && /^0+$|^$/.test(tokenOf(Number(childrenOf()))));
  const pid = Number(childrenOf());
  const enter = (argv: string[]) => {
    const child = spawn("nsenter", ["-t", String(pid), "-p", "-n", "-m", ...argv], { stdio: "pipe" });
    children.push(child);
    child.stdin?.on("error", () => {});
    return child;
  };
  return {
    ...{ pid, init, enter },
    connect(options = {}) {
      const client = enter([program, "connect", options.name ?? "commands"]);
      client.stdin?.write(options.token ?? token);
      const stream = Duplex.from({ readable: client.stdout, writable: client.stdin } as {
        readable: NodeJS.ReadableStream;
        writable: NodeJS.WritableStream;
      });
      const deadlineMs = options.deadlineMs ?? 60_000;
      return { client, connection: new InitConnection(stream, { deadlineMs, folders: [] }) };
    },
  };
}

/** The argument of init that was the token, without the zeros that replaced it. */
function tokenOf(pid: number): string {
  const [, , , ...rest] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  return readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "outrider-init" ? (rest[0] ?? "") : "starting";
}

const bash = (script: string, more: Partial<StartOptions> = {}): StartOptions => ({
  ...{ argv: ["/bin/bash", "--norc", "-c", script], env: { PATH: "/usr/bin:/bin" } },
  ...{ folders: ["/"], stdin: false, ...more },
});

const outputOf = (connection: InitConnection, script: string) => text(connection.start(bash(script)).stdout);
const countSleeps = (connection: InitConnection) => outputOf(connection, "pgrep -c -x sleep");

describe.skipIf(!isRoot)("init in a pod", () => {
  test("erases its token, and accepts a worker that has it", async () => {
    const pod = await startPod();
    expect(readFileSync(`/proc/${pod.pid}/cmdline`, "utf8")).not.toContain("aaaa");
    const { connection } = pod.connect();
    expect(await connection.ready).toBe(0);
    expect(
      await outputOf(connection, "cat /proc/1/cmdline | tr '\\0' ' '; cat /proc/1/environ"),
    ).not.toContain("aaaa");
    connection.close();
  });

  test("refuses a wrong token, and another name, without disturbing the worker", async () => {
    const pod = await startPod();
    const { connection } = pod.connect();
    await connection.ready;
    const wrong = pod.connect({ token: "b".repeat(64) });
    await expect(wrong.connection.ready).rejects.toThrow("first process exited");
    const other = pod.connect({ name: "scripts" });
    expect(await text(other.client.stderr as NodeJS.ReadableStream)).toContain("does not accept connections");
    expect(await outputOf(connection, "echo on")).toBe("on\n");
  });

  test("kills all commands when the connection breaks, and accepts the next one", async () => {
    const pod = await startPod();
    const first = pod.connect();
    await first.connection.ready;
    const sleeper = first.connection.start(bash("setsid sleep 1000 & trap '' TERM; echo up; sleep 1000"));
    await once(sleeper.stdout, "data");
    await first.connection.listen({ port: 3128 }, () => {});
    first.client.kill("SIGKILL");
    first.connection.close();
    expect(await sleeper.ended).toMatchObject({ exitCode: null });
    const { connection } = pod.connect();
    expect(await connection.ready).toBe(1);
    expect(await countSleeps(connection)).toBe("0\n");
    await connection.listen({ port: 3128 }, () => {});
  });

  test("gives a newer connection the place of the older one", async () => {
    const pod = await startPod();
    const first = pod.connect();
    await first.connection.ready;
    const sleeper = first.connection.start(bash("echo up; sleep 1000"));
    await once(sleeper.stdout, "data");
    const { connection } = pod.connect();
    expect(await connection.ready).toBe(1);
    expect(await countSleeps(connection)).toBe("0\n");
    await first.connection.closed;
    await until(() => first.client.exitCode === 0);
  });

  test("kills everything on request, and says when all have exited", async () => {
    const pod = await startPod();
    const { connection } = pod.connect();
    await connection.ready;
    const fill = "for i in {1..50}; do setsid sleep 1000 & done; yes > /dev/stderr & echo up; wait";
    const command = connection.start(bash(fill));
    command.stderr.resume();
    await once(command.stdout, "data");
    expect(await connection.endCommands(60_000)).toBe(true);
    expect(await command.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
    expect(readFileSync(`/proc/${pod.pid}/task/${pod.pid}/children`, "utf8")).toBe("");
    const next = pod.connect();
    expect(await next.connection.ready).toBe(1);
    expect(await outputOf(next.connection, "echo on")).toBe("on\n");
  });

  test("kills all commands at the deadline, and stays for a worker that extends it", async () => {
    const pod = await startPod();
    const first = pod.connect();
    await first.connection.ready;
    const sleeper = first.connection.start(bash("setsid sleep 1000 & echo up; exec sleep 1000"));
    await once(sleeper.stdout, "data");
    first.connection.setDeadline(0);
    expect(await sleeper.ended).toMatchObject({ exitCode: null });
    const { connection } = pod.connect();
    await connection.ready;
    expect(await countSleeps(connection)).toBe("0\n");
  });

  test("protects its connection from a command of root with the capabilities of a container", async () => {
    const pod = await startPod();
    const { connection, client } = pod.connect();
    await connection.ready;
    const found = await outputOf(
      connection,
      `grep CapBnd /proc/self/status
       for pid in $(pgrep -x outrider-init); do
         setpriv --bounding-set -sys_ptrace,-sys_admin,-perfmon --inh-caps -all cat /proc/$pid/environ /proc/$pid/fdinfo/0 2>&1
       done`,
    );
    const bounds = Number.parseInt(/CapBnd:\t([0-9a-f]+)/.exec(found)?.[1]?.slice(-8) ?? "", 16);
    expect(bounds & (1 << 18)).toBe(0);
    expect(found.match(/Permission denied/g)?.length).toBe(4);
    expect(client.exitCode).toBe(null);
  });
});
