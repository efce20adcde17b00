import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type Duplex, duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import {
  encodeFrame,
  encodePayload,
  fromInit,
  maxDataBytes,
  window,
} from "../../src/sandboxes/init/frames.ts";
import { InitConnection, type StartOptions } from "../../src/sandboxes/init/init-connection.ts";
import type { ConnectionStream } from "../../src/sandboxes/init/streams.ts";
import { buildPortableSeccompFilter } from "../../src/sandboxes/seccomp/build-filter.ts";
import { syscall } from "../escape/syscalls.ts";
import { isRoot, until } from "./sandbox-support.ts";

const program = fileURLToPath(new URL("../../native/build/outrider-init", import.meta.url));
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

/** Starts init without the sandbox around it. If the tests run as root, it has all capabilities. */
async function startInit(deadlineMs = 60_000, seccompFilter?: Buffer): Promise<InitConnection> {
  const privileges = isRoot ? ["--cap-add", "ALL"] : ["--unshare-user"];
  const options = [
    "--unshare-pid",
    "--unshare-net",
    "--die-with-parent",
    "--as-pid-1",
    "--dev-bind",
    "/",
    "/",
  ];
  const child = spawn("bwrap", [...privileges, ...options, "--proc", "/proc", "--dev", "/dev", program], {
    stdio: ["ignore", "ignore", "inherit", "ignore", "ignore", "pipe"],
  });
  children.push(child);
  const connection = new InitConnection((child.stdio as unknown as Duplex[])[5] as Duplex, {
    ...{ deadlineMs, seccompFilter, folders: [] },
    processesEnded: async () => void (child.exitCode ?? child.signalCode ?? (await once(child, "exit"))),
  });
  await connection.ready;
  return connection;
}

const bash = (script: string, more: Partial<StartOptions> = {}): StartOptions => ({
  ...{
    argv: ["/bin/bash", "--norc", "-c", script],
    env: { PATH: "/usr/bin:/bin" },
    folders: ["/"],
    stdin: false,
  },
  ...more,
});

describe("a command of init", () => {
  test("starts in the first folder that exists, with only its own environment", async () => {
    const connection = await startInit();
    const options = { folders: ["/no/such", "/usr/bin", "/"], env: { PATH: "/usr/bin:/bin", A: "b" } };
    const command = connection.start(bash("pwd; env | sort; exit 3", options));
    expect(await text(command.stdout)).toMatch(/^\/usr\/bin\nA=b\nPATH=.*\nPWD=.*\nSHLVL=\d\n_=.*\n$/);
    expect(await command.ended).toEqual({ exitCode: 3 });
  });

  test("is rejected with the reason if it cannot start", async () => {
    const connection = await startInit();
    const missing = connection.start({ ...bash(""), argv: ["/no/such"] });
    await expect(missing.started).rejects.toThrow("could not run the program (ENOENT). Check that it exists");
    expect(await text(missing.stdout)).toBe("");
    const outside = connection.start(bash("true", { folders: ["/no/such"] }));
    await expect(outside.started).rejects.toThrow("could not enter the folder (ENOENT)");
    expect(() => connection.start(bash("a\0b"))).toThrow("must not contain a NUL");
    expect(() => connection.start(bash("", { env: { A: "x".repeat(5_000_000) } }))).toThrow(
      "longer than 4 MiB",
    );
    const long = connection.start(bash("", { env: { A: "x".repeat(3_000_000) } }));
    await expect(long.started).rejects.toThrow("longer than Linux allows");
    expect(await text(connection.start(bash("echo on")).stdout)).toBe("on\n");
  });

  test.skipIf(!isRoot)(
    "runs as another user, whose files its output is, under a supervisor of init's user",
    async () => {
      const connection = await startInit();
      const user = { uid: 4711, gid: 4712, groups: [4713, 4714] };
      const script = "id -u; id -g; id -G; echo err > /dev/stderr; kill -9 $PPID; ps -o uid= -p $PPID";
      const command = connection.start(bash(script, { user }));
      const [stdout, stderr] = await Promise.all([text(command.stdout), text(command.stderr)]);
      expect(stdout.replaceAll(" ", "")).toBe("4711\n4712\n471247134714\n0\n");
      expect(stderr).toContain("err\n");
      expect(stderr).toContain("Operation not permitted");
      expect(await command.ended).toEqual({ exitCode: 0 });
    },
  );

  test("blocks while its output is not read, and loses nothing", async () => {
    const connection = await startInit();
    const size = 100 * 2 ** 20;
    const command = connection.start(bash(`head -c ${size} /dev/zero; echo done >&2`));
    let stderr = "";
    command.stderr.on("data", (data) => {
      stderr += data;
    });
    await until(() => command.stdout.readableLength > window / 2);
    // Another command passes through the same connection meanwhile.
    expect(await text(connection.start(bash("head -c 3000000 /dev/zero | wc -c")).stdout)).toBe("3000000\n");
    expect(command.stdout.readableLength).toBeLessThanOrEqual(window);
    expect(stderr).toBe("");
    let bytes = 0;
    for await (const chunk of command.stdout as AsyncIterable<Buffer>) bytes += chunk.length;
    expect(bytes).toBe(size);
    await until(() => stderr === "done\n");
    expect(await command.ended).toEqual({ exitCode: 0 });
  });

  test("delivers all of its output to a slow reader after it has exited", async () => {
    const connection = await startInit();
    const command = connection.start(bash("head -c 300000 /dev/zero; sleep 1000 > /dev/null 2>&1 &"));
    await command.ended;
    await until(() => command.stdout.readableLength > 0);
    let bytes = 0;
    for await (const chunk of command.stdout as AsyncIterable<Buffer>) bytes += chunk.length;
    expect(bytes).toBe(300_000);
  });

  test("reads input of any size, and may exit without reading it", async () => {
    const connection = await startInit();
    const counter = connection.start(bash("sleep 0.1; wc -c", { stdin: true }));
    counter.stdin.end(Buffer.alloc(5_000_000));
    expect(await text(counter.stdout)).toBe("5000000\n");
    const silent = connection.start(bash("exit 2", { stdin: true }));
    const written = new Promise((resolve) => silent.stdin.write(Buffer.alloc(5_000_000), resolve));
    expect(await silent.ended).toEqual({ exitCode: 2 });
    expect(await written).toMatchObject({ code: "EPIPE" });
  });

  test("gets SIGPIPE if the worker closes its output", async () => {
    const connection = await startInit();
    const command = connection.start(bash("exec yes"));
    command.stdout.once("data", () => command.stdout.destroy());
    expect(await command.ended).toEqual({ exitCode: 128 + 13 });
  });
});

describe("init", () => {
  test("ends with everything at its deadline, which can be moved", async () => {
    const connection = await startInit(60_000);
    const command = connection.start(bash("setsid sleep 1000 & sleep 1000"));
    expect(await command.started).toBe(true);
    connection.setDeadline(200);
    expect(await command.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
    expect(await connection.closed).toBe(undefined);
    // A command that is started too late ends as killed too.
    expect(await connection.start(bash("true")).ended).toEqual({ exitCode: null, signal: "SIGKILL" });
  });

  test("filters the system calls of commands and of what they start, with the given filter", async () => {
    const command = `${syscall("personality", 0x0400000)}; grep -c 'Seccomp:.2' /proc/self/status; grep -c 'NoNewPrivs:.1' /proc/self/status`;
    const outputOf = async (connection: InitConnection) =>
      await text(connection.start(bash(`(${command})`)).stdout);
    expect(await outputOf(await startInit())).toMatch(/^worked: \d+\n0\n/);
    expect(await outputOf(await startInit(60_000, buildPortableSeccompFilter()))).toBe(
      "refused: Invalid argument\n1\n1\n",
    );
  });

  test("passes connections to a port on, with both ends and errors", async () => {
    const connection = await startInit();
    const accepted: ConnectionStream[] = [];
    await connection.listen({ port: 3128 }, (stream) => accepted.push(stream));
    await expect(connection.listen({ port: 3128 }, () => {})).rejects.toThrow(
      "cannot listen on 127.0.0.1:3128",
    );
    const client = (then: string) =>
      connection.start(bash(`exec 3<> /dev/tcp/127.0.0.1/3128; echo hello >&3; ${then}`));

    const half = client("cat <&3");
    await until(() => accepted.length === 1);
    const [first] = accepted as [ConnectionStream];
    const [received] = (await once(first, "data")) as [Buffer];
    expect(received.toString()).toBe("hello\n");
    first.end(Buffer.alloc(1_000_000, "x"));
    expect((await text(half.stdout)).length).toBe(1_000_000);
    await until(() => first.closed);

    const reset = client("cat <&3; echo $?");
    await until(() => accepted.length === 2);
    // The client has written its data, so that the error reaches its read.
    await once(accepted[1] as ConnectionStream, "data");
    accepted[1]?.destroy(new Error("gone"));
    const [stdout, stderr] = await Promise.all([text(reset.stdout), text(reset.stderr)]);
    expect({ stdout, stderr }).toMatchObject({
      stdout: "1\n",
      stderr: expect.stringContaining("reset by peer"),
    });

    // The client closes its end while data for it is still unread, which is an error for the worker.
    const rude = client("read -r x <&3");
    await until(() => accepted.length === 3);
    accepted[2]?.write(Buffer.alloc(10_000_000, "y\n"));
    await rude.ended;
    await until(() => accepted[2]?.closed);
    expect(accepted[2]?.errored).toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) });
  });
});

describe("freezing", () => {
  test("stops all processes but init, which still kills commands and ends at its deadline", async () => {
    const connection = await startInit();
    const ticker = connection.start(bash("while echo; do sleep 0.01; done"));
    let ticks = 0;
    ticker.stdout.on("data", () => ticks++);
    await until(() => ticks > 3);
    await connection.freeze();
    // What was written before arrives first.
    const other = connection.start(bash("exec sleep 1000"));
    other.kill();
    await other.ended;
    const frozen = ticks;
    await connection.thaw();
    await until(() => ticks > frozen + 3);
    await connection.freeze();
    ticker.kill();
    expect(await ticker.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
    const last = connection.start(bash("exec sleep 1000"));
    await last.started;
    await connection.freeze();
    connection.setDeadline(1);
    expect(await last.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
    await connection.freeze();
    await connection.thaw();
  });
});

describe("an interrupted connection", () => {
  const connect = (mayBeInterrupted: boolean) => {
    const [ours, theirs] = duplexPair();
    theirs.resume();
    const connection = new InitConnection(ours, { deadlineMs: 20, folders: [], mayBeInterrupted });
    theirs.write(encodeFrame(fromInit.ready, 0));
    return { connection, theirs };
  };

  test("fails when init has ended at the last deadline that it confirmed", async () => {
    const { connection } = connect(true);
    const command = connection.start(bash("true"));
    connection.setDeadline(1_000_000); // never arrives
    expect((await connection.closed)?.message).toContain("interrupted until the deadline");
    expect(await command.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
  });

  test("continues if init has confirmed a later deadline", async () => {
    const { connection, theirs } = connect(true);
    connection.setDeadline(1_000_000);
    theirs.write(encodeFrame(fromInit.done, 4));
    const missed = connect(true);
    await missed.connection.closed;
    expect(connection.isClosed).toBe(false);
  });

  test("stays open if the stream cannot be interrupted", async () => {
    const { connection } = connect(false);
    const missed = connect(true);
    await missed.connection.closed;
    expect(connection.isClosed).toBe(false);
  });
});

describe("a hostile init", () => {
  /** Connects the worker's side to a peer that sends these bytes. */
  function connect() {
    const [ours, theirs] = duplexPair();
    theirs.resume();
    const connection = new InitConnection(ours, { deadlineMs: 1000, folders: [] });
    return { connection, send: (...frames: Buffer[]) => theirs.write(Buffer.concat(frames)) };
  }
  const number = (type: number, id: number, ...numbers: number[]) =>
    encodeFrame(type, id, encodePayload(numbers));
  const data = (id: number, size: number) => encodeFrame(fromInit.data, id, Buffer.alloc(size));
  const full = () => Array.from({ length: window / maxDataBytes }, () => data(5, maxDataBytes));
  const header = Buffer.alloc(12, 0xff);

  test.each<[string, () => Buffer[]]>([
    ["a frame that is too long", () => [header]],
    ["an unknown type", () => [encodeFrame(99, 4)]],
    ["an unknown command", () => [encodeFrame(fromInit.started, 8)]],
    ["an unknown stream", () => [data(7, 1)]],
    ["data for stdin", () => [data(4, 1)]],
    ["more data than the window allows", () => [...full(), data(5, 1)]],
    ["data after the end", () => [encodeFrame(fromInit.end, 5), data(5, 1)]],
    ["two ends of a stream", () => [encodeFrame(fromInit.end, 5), encodeFrame(fromInit.end, 5)]],
    ["two ends of a command", () => [number(fromInit.exited, 4, 0, 0), number(fromInit.exited, 4, 0, 0)]],
    ["credit that nobody has used", () => [number(fromInit.credit, 4, 1)]],
    ["a payload that is too short", () => [number(fromInit.exited, 4, 0)]],
    ["a connection without a listener", () => [number(fromInit.accepted, 2 ** 31, 4)]],
    ["data for an unknown connection", () => [data(2 ** 31, 1)]],
    ["an answer that nobody has asked for", () => [encodeFrame(fromInit.done, 4)]],
    ["a listener that nobody has asked for", () => [number(fromInit.listening, 8, 0)]],
  ])("ends the connection with %s", async (_, frames) => {
    const { connection, send } = connect();
    const command = connection.start(bash("true", { stdin: true }));
    send(encodeFrame(fromInit.ready, 0), ...frames());
    expect(await connection.closed).toMatchObject({ name: "ProtocolError" });
    const ending = await command.ended;
    expect([null, 0]).toContain(ending.exitCode);
  });

  test("cannot make the worker keep more than a window of unread data", async () => {
    const { connection, send } = connect();
    const command = connection.start(bash("true"));
    send(...full());
    await until(() => command.stdout.readableLength === window);
    connection.close();
    expect(await command.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
  });

  test("can split frames anywhere", async () => {
    const { connection, send } = connect();
    const command = connection.start(bash("true"));
    const frames = Buffer.concat([
      encodeFrame(fromInit.data, 5, Buffer.from("one")),
      encodeFrame(fromInit.data, 5, Buffer.from("two")),
      ...[encodeFrame(fromInit.end, 5), number(fromInit.exited, 4, 0, 256)],
    ]);
    for (const byte of frames) send(Buffer.of(byte));
    expect(await text(command.stdout)).toBe("onetwo");
    expect(await command.ended).toEqual({ exitCode: 1 });
    connection.close();
  });

  test("that does not kill a command in time loses the connection", { timeout: 20_000 }, async () => {
    const { connection } = connect();
    const command = connection.start(bash("true"));
    command.kill();
    expect(await connection.closed).toMatchObject({ message: "The sandbox did not kill a command in time." });
    expect(await command.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
  });
});
