import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { inMs, processesWith, run, until } from "../sandboxes/sandbox-support.ts";
import { collect, describePlace, type Fixture, makeMarker, signal } from "./fixture.ts";
import type { Place } from "./place.ts";

/** Commands with their output, environment and terminal. */
export function testCommands(place: Place): void {
  describePlace("commands", place, defineTests);
}

function* repeat(chunk: Buffer): Generator<Buffer> {
  for (;;) yield chunk;
}

function defineTests(getFixture: () => Fixture): void {
  describe("a command", () => {
    test("streams stdout and stderr separately and returns the exit code", async () => {
      const { sandbox } = getFixture();
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
      const { sandbox } = getFixture();
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
      const { sandbox } = getFixture();
      expect(await run(sandbox, "kill -TERM $$")).toMatchObject({ exitCode: 143, timedOut: false });
    });

    test("runs in /workspace with an empty stdin and can open its output by path", async () => {
      const { sandbox } = getFixture();
      const { stdout, stderr } = await run(
        sandbox,
        "pwd; cat; echo a > /dev/stdout; echo b | tee /dev/stderr",
      );
      expect({ stdout, stderr }).toEqual({ stdout: "/workspace\na\nb\n", stderr: "b\n" });
    });

    test("reads a stream from its stdin, and may ignore it", async () => {
      const { sandbox } = getFixture();
      const endless = () => Readable.from(repeat(Buffer.alloc(2 ** 16, "x")), { objectMode: false });
      const sent = Readable.from([Buffer.alloc(300_000, "a"), Buffer.from("b")], { objectMode: false });
      expect((await run(sandbox, "wc -c; tail -c 1", { stdin: sent })).stdout).toContain("300001\n");
      const ignored = endless();
      expect(await run(sandbox, "exec < /dev/null; echo on; exit 3", { stdin: ignored })).toMatchObject({
        ...{ stdout: "on\n", exitCode: 3 },
      });
      await until(() => ignored.destroyed);
      const marker = makeMarker();
      const [failing, failure] = [endless(), new Error("the source failed")];
      const result = run(sandbox, `exec -a ${marker} sleep 1000`, { stdin: failing });
      failing.destroy(failure);
      await expect(result).rejects.toThrow("the source failed");
      expect(processesWith(marker)).toEqual([]);
    });

    test("gets the given and the default environment, but nothing from the worker", async () => {
      const { sandbox, system } = getFixture();
      const env = { GIVEN: "with = and\nnewline", BASH_ENV: "" };
      const { stdout } = await run(sandbox, "env -0", { env });
      const seen = Object.fromEntries(
        stdout.split("\0").flatMap((line) => [line.split(/=(.*)/s).slice(0, 2)]),
      );
      const { PATH, PWD, SHLVL, _, "": _end, ...rest } = seen;
      expect(rest).toEqual({
        GIVEN: env.GIVEN,
        BASH_ENV: "",
        HOME: system.home,
        LANG: "C.UTF-8",
        LOGNAME: system.user,
        SHELL: "/bin/bash",
        TERM: "dumb",
        USER: system.user,
        ...system.env,
      });
      expect(PATH).toBe("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
      await expect(run(sandbox, "true", { env: { "no-name": "" } })).rejects.toThrow(
        "not a valid name for an environment variable",
      );
    });

    test("can write to its home and /tmp, and knows its user and host", async () => {
      const { sandbox, system } = getFixture();
      const { stdout, stderr } = await run(
        sandbox,
        "touch ~/x /tmp/y && whoami && id -u && getent hosts sandbox | grep -o sandbox && cd && pwd -P",
      );
      const lines = [system.user, system.uid, "sandbox", system.home];
      expect({ stdout, stderr }).toEqual({ stdout: `${lines.join("\n")}\n`, stderr: "" });
    });

    test("is rejected if it is longer than Linux allows or already aborted", async () => {
      const { sandbox } = getFixture();
      await expect(run(sandbox, `: ${"x".repeat(131_072)}`)).rejects.toThrow("longer than 128 KiB");
      await expect(run(sandbox, "touch ran", { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
      expect((await run(sandbox, "ls ran")).exitCode).not.toBe(0);
    });

    test("cannot lock out the next command", async () => {
      const { sandbox } = getFixture();
      await run(sandbox, "chmod 000 /workspace /tmp ~");
      expect((await run(sandbox, "touch /workspace/a /tmp/a ~/a && echo open")).stdout).toBe("open\n");
    });

    test("is killed if onOutput throws, and rejects with that error", async () => {
      const { sandbox, processesWith } = getFixture();
      const marker = makeMarker();
      const onOutput = () => {
        throw new Error("full");
      };
      await expect(run(sandbox, `echo; sleep ${marker}`, { onOutput })).rejects.toThrow("full");
      expect(await processesWith(marker)).toEqual([]);
    });

    test("uses no memory of the worker for endless output", async () => {
      const { sandbox } = getFixture();
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
      const { sandbox } = getFixture();
      const all = await Promise.all(
        Array.from({ length: 24 }, (_, n) => run(sandbox, `echo ${n}; echo ${n} >&2`)),
      );
      expect(all.map(({ stdout }) => Number(stdout))).toEqual(all.map((_, n) => n));
      expect(all.map(({ stderr }) => Number(stderr))).toEqual(all.map((_, n) => n));
    });
  });

  describe("a spawned process", () => {
    test("uses stdin and stdout while other commands run, and ends with its stdin", async () => {
      const { open } = getFixture();
      const sandbox = await open();
      const cat = await sandbox.spawn("cat; echo bye >&2; exit 3", { signal, env: { X: "1" } });
      const [out, err] = [collect(cat.stdout), collect(cat.stderr)];
      cat.stdin.write("ping\n");
      await until(() => out() === "ping\n");
      expect((await run(sandbox, "echo beside")).stdout).toBe("beside\n");
      cat.stdin.end("pong\n");
      expect(await cat.ended).toEqual({ exitCode: 3 });
      await until(() => out() === "ping\npong\n" && err() === "bye\n");
      await sandbox.close();
    });

    test("is killed by kill, by its signal, by close and at the deadline", async () => {
      const { open, place } = getFixture();
      const killed = { exitCode: null, signal: "SIGKILL" };
      const controller = new AbortController();
      const sandbox = await open();
      const spawned = await sandbox.spawn("sleep 1000", { signal });
      await spawned.kill();
      expect(await spawned.ended).toEqual(killed);
      const aborted = await sandbox.spawn("sleep 1000", { signal: controller.signal });
      controller.abort();
      expect(await aborted.ended).toEqual(killed);
      const last = await sandbox.spawn("sleep 1000", { signal });
      await sandbox.close();
      expect(await last.ended).toEqual(killed);
      const short = await open({ deadline: inMs(1000 + place.startMs) });
      expect(await (await short.spawn("sleep 1000", { signal })).ended).toEqual(killed);
      await short.close();
    });
  });

  describe("a terminal", () => {
    test("has the given size, can be resized and ends with its command", async () => {
      const { sandbox, system } = getFixture();
      const script = system.hasResizeSignal
        ? "trap 'stty size; exit 4' WINCH; stty size; while :; do sleep 0.01; done"
        : "stty size; while [[ $(stty size) = '24 80' ]]; do sleep 0.01; done; stty size; exit 4";
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
      const { sandbox } = getFixture();
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
}
