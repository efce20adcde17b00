import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Redactor } from "../../src/redaction/redact.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { Label, Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { streamDiff } from "../../src/workspace/diff.ts";
import { inMs, makeRoot, processesWith, run, silent, until } from "./sandbox-support.ts";

const { root, remove } = makeRoot();
let provider: SandboxProvider;
let sandbox: Sandbox;

const open = (options: { id?: string; label?: Label } = {}) =>
  provider.open({ id: randomUUID(), label: {}, deadline: inMs(120_000), ...options });

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  sandbox = await open();
});

afterAll(async () => {
  await sandbox?.close();
  await provider?.stop();
  await remove();
});

describe("read and write", () => {
  test("transfer arbitrary bytes and create parent folders", async () => {
    const data = randomBytes(3_000_000);
    await sandbox.write("a/b c/-d\n/e", data);
    expect((await sandbox.read("a/b c/-d\n/e", 1e7)).equals(data)).toBe(true);
    expect((await sandbox.read("a/b c/-d\n/e", 10)).equals(data.subarray(0, 10))).toBe(true);
    await sandbox.write("-n", Buffer.alloc(0));
    expect(await sandbox.read("-n", 10)).toEqual(Buffer.alloc(0));
  });

  test("report a missing path or a path that is not a file", async () => {
    await run(sandbox, "mkdir -p folder; mkfifo fifo");
    await expect(sandbox.read("absent", 10)).rejects.toMatchObject({ code: "not_found" });
    await expect(sandbox.read("folder", 10)).rejects.toMatchObject({ code: "not_a_file" });
    await expect(sandbox.read("fifo", 10)).rejects.toMatchObject({ code: "not_a_file" });
    await expect(sandbox.write("folder", Buffer.from("x"))).rejects.toMatchObject({ code: "not_a_file" });
    await expect(sandbox.write("/usr/x", Buffer.from("x"))).rejects.toMatchObject({ code: "failed" });
  });

  test("replace a file atomically, keep its mode and leave no temporary file", async () => {
    await run(sandbox, "mkdir kept && cd kept && echo old > file && chmod 754 file && ln -s file link");
    await sandbox.write("kept/link", Buffer.from("new"));
    const { stdout } = await run(sandbox, "cd kept && cat file && stat -c %a file && readlink link && ls -A");
    expect(stdout).toBe("new754\nfile\nfile\nlink\n");
  });

  test("follow symlinks only inside the sandbox, never to the host", async () => {
    const secret = join(root, "..", `secret-${randomUUID()}`);
    writeFileSync(secret, "the host's");
    await run(
      sandbox,
      `ln -s /etc/passwd passwd; ln -s ${secret} absolute; ln -s ../../../.. up; ln -s /etc etc
       ln -s ../../../${secret.split("/").pop()} relative`,
    );
    expect((await sandbox.read("passwd", 1e4)).toString()).toMatch(/^root:.*\nsandbox:.*\n$/);
    expect((await sandbox.read("up/etc/passwd", 1e4)).toString()).toMatch(/^root:.*\nsandbox:.*\n$/);
    expect((await sandbox.read("../../../etc/passwd", 1e4)).toString()).toMatch(/^root:.*\nsandbox:.*\n$/);
    const paths = ["absolute", "relative", secret, `up${secret}`];
    for (const path of paths)
      await expect(sandbox.read(path, 10)).rejects.toMatchObject({ code: "not_found" });
    // A write that succeeds goes to the sandbox's own /tmp.
    for (const path of paths) await sandbox.write(path, Buffer.from("overwritten")).catch(() => {});
    expect(readFileSync(secret, "utf8")).toBe("the host's");
    await expect(sandbox.write("etc/passwd", Buffer.from("x"))).rejects.toMatchObject({ code: "failed" });
    await sandbox.write("up/tmp/inside", Buffer.from("x"));
    expect((await run(sandbox, "cat /tmp/inside")).stdout).toBe("x");
    expect(existsSync("/tmp/inside")).toBe(false);
  });
});

describe("a snapshot", () => {
  test("restores files, modes, links and empty folders", async () => {
    const first = await open();
    const second = await open();
    await run(
      first,
      `mkdir -p empty deep/er "with space" locked; echo hello > deep/er/file; printf x > "with space/ü"
       printf y > $'new\\nline'; ln -s er/file deep/link; ln -s /nowhere dangling; chmod 750 deep/er/file
       chmod 500 locked; ln deep/er/file hard; truncate -s 1T huge; chmod 640 huge; touch -d @1000000000 old`,
    );
    const list = async (of: Sandbox) =>
      (await run(of, "find . -printf '%p %y %m %l %n %s %T@\\n' | grep -v '^. d' | sort; cat deep/link hard"))
        .stdout;
    await second.restore(first.snapshot());
    const expected = await list(first);
    // The size of a folder depends on the file system.
    const comparable = (text: string) => text.replaceAll(/ d (\d+) {2}\d+ \d+ [\d.]+/g, " d $1");
    expect(comparable(await list(second))).toBe(comparable(expected));
    expect(expected).toContain("dangling l 777 /nowhere");
    await first.close();
    await second.close();
  });

  test("skips only unreadable files", async () => {
    const first = await open();
    const second = await open();
    await run(first, "echo a > readable; echo b > shut; mkdir none; echo c > none/c; chmod 000 shut none");
    await second.restore(first.snapshot());
    expect((await run(second, "cat readable")).stdout).toBe("a\n");
    await first.close();
    await second.close();
  });

  test("kills its processes when its stream is destroyed", async () => {
    await run(sandbox, "head -c 20000000 /dev/urandom > noise");
    const stream = sandbox.snapshot();
    await until(() => processesWith("--ignore-failed-read").length > 0);
    stream.destroy();
    await until(() => processesWith("--ignore-failed-read").length === 0);
  });

  test("reports an early failure to a later reader, as a patch does", async () => {
    const closed = await open();
    await closed.close();
    const signal = AbortSignal.abort(new Error("The lease is lost."));
    const streams = [
      closed.snapshot(),
      streamDiff(sandbox, { repositories: [], redactor: new Redactor([]), signal }),
    ];
    // An unhandled stream error would end the process.
    await until(() => streams.every((stream) => stream.errored && stream.closed));
    for (const stream of streams) await expect(buffer(stream)).rejects.toThrow(/closed|lost/);
  });

  test("reports failures as an error of the stream or of restore", async () => {
    const closed = await open();
    await closed.close();
    await expect(buffer(closed.snapshot())).rejects.toThrow("closed");
    await expect(sandbox.restore(Readable.from([Buffer.from("no archive")]))).rejects.toThrow(
      "Failed to unpack",
    );
    const broken = new Readable({
      read() {
        this.destroy(new Error("lost connection"));
      },
    });
    await expect(sandbox.restore(broken)).rejects.toMatchObject({ cause: { message: "lost connection" } });
  });

  test("fails if the sandbox is killed halfway", async () => {
    const stream = sandbox.snapshot();
    stream.once("readable", () => void sandbox.kill());
    await expect(buffer(stream)).rejects.toThrow("killed");
  });

  test("does not restore a hostile archive outside the sandbox", async () => {
    const other = await open();
    await run(sandbox, "mkdir -p hostile && cd hostile && ln -s /tmp/../etc out && echo x > evil");
    const { stdout } = await run(
      sandbox,
      "cd hostile && tar -cPzf - --transform 's,^evil,../../../../tmp/outrider-evil,' out evil | base64 -w0",
    );
    await other.restore(Readable.from([Buffer.from(stdout, "base64")])).catch(() => {});
    expect(existsSync("/tmp/outrider-evil")).toBe(false);
    await other.close();
  });
});

describe("close", () => {
  test("removes files with any mode, depth and name", async () => {
    const other = await open();
    await run(
      other,
      `mkdir -p a/b/c; touch a/b/c/d; chmod 000 a/b/c a/b a; mkdir deep; cd deep
       long=$(printf 'dddddddd/%.0s' {1..200}); for i in {1..8}; do mkdir -p $long && cd $long; done; chmod 500 .
       cd /workspace; touch ./-rf $'x\\ny'; mkdir ~/z; chmod 000 ~/z /tmp; mkfifo f; chmod 000 /workspace`,
    );
    await other.close();
    expect(existsSync(join(root, other.id))).toBe(false);
    await other.close();
  });

  test("makes the id available again", async () => {
    const first = await open({ id: "twice" });
    await expect(open({ id: "twice" })).rejects.toThrow("EEXIST");
    await first.close();
    await (await open({ id: "twice" })).close();
    await expect(open({ id: "../twice" })).rejects.toThrow("not a valid sandbox id");
    await expect(open({ id: ".etc" })).rejects.toThrow("not a valid sandbox id");
  });
});

test("reap removes leftovers of an earlier worker, except open sandboxes and those to keep", async () => {
  const earlier = await openLocalProvider({ root, log: silent });
  const opened = async (id: string, worker: string) => {
    const left = await earlier.open({ id, deadline: inMs(60_000), label: { worker } });
    await run(left, "mkdir x && touch x/y && chmod 000 x");
  };
  await opened("left", "dead");
  await opened("kept", "alive");
  await earlier.stop();
  expect(await provider.reap(({ worker }) => worker === "alive")).toEqual(["left"]);
  const sandboxes = readdirSync(root).filter((name) => !name.startsWith("."));
  expect(sandboxes.sort()).toEqual(["kept", sandbox.id].sort());
  expect((await run(sandbox, "true")).exitCode).toBe(0);
  expect(await provider.reap(() => false)).toEqual(["kept"]);
});
