import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type Logger, pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openIntake } from "../src/engine/intake.ts";
import { type TestServer, testServer } from "./server.ts";

const MEGABYTE = 1024 ** 2;

const released = { takesRuns: () => true, requireIntake() {} };

/** A file system of its own, of 64 MB, which tests can fill. */
async function smallDisk(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "outrider-test-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", folder]);
  } catch {
    throw new Error("These tests mount a small file system, which takes root: run them as root.");
  }
  return {
    folder,
    async remove() {
      execFileSync("umount", ["-l", folder]);
      await rm(folder, { recursive: true });
    },
  };
}

async function until<T>(what: string, look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  for (const deadline = Date.now() + 15_000; Date.now() < deadline; ) {
    const seen = await look();
    if (holds(seen)) return seen;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`In vain waited for: ${what}.`);
}

describe("while the data folder's disk is short of space", () => {
  let disk: Awaited<ReturnType<typeof smallDisk>>;
  let server: TestServer;
  let ended: string;
  let working: string;
  let workerKey: string;

  const create = () => server.call("POST", "/agent/run", { body: { prompt: "SAY: hello" } });
  const metrics = async () => (await server.call("GET", `${server.origin}/metrics`)).text;
  const filler = () => join(disk.folder, "filler");

  beforeAll(async () => {
    disk = await smallDisk();
    server = await testServer({ OUTRIDER_DATA_DIR: join(disk.folder, "data"), OUTRIDER_MIN_FREE_MB: "32" });
    ended = (await create()).body.run_id;
    await server.call("POST", `/agent/runs/${ended}/cancel`);
    working = (await create()).body.run_id;
    await server.db`update run_heads set state = 'INPROGRESS', execution_id = gen_random_uuid(),
      lease_expires_at = outrider_now() + interval '1 hour' where run_id = ${working}`;
    await server.db`update runs set state = 'INPROGRESS' where run_id = ${working}`;
    workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
    await writeFile(filler(), randomBytes(40 * MEGABYTE));
    await until("a refusal", create, ({ status }) => status !== 200);
  });
  afterAll(async () => {
    await server.stop();
    await disk.remove();
  });

  test("new runs are refused with 503 and a remedy, and may be tried again", async () => {
    const { status, body, headers } = await create();
    expect(status).toBe(503);
    expect(body).toMatchObject({ error_code: "resource_unavailable", retryable: true });
    expect(body.detail).toMatch(/short of space.*operator/);
    expect(headers.get("retry-after")).toBe("1");
  });

  test("a follow-up that would begin a turn is refused, and leaves nothing behind", async () => {
    const reply = await server.call("POST", `/agent/runs/${ended}/followups`, {
      body: { message: "SAY: more" },
    });
    expect(reply.status).toBe(503);
    expect((await server.call("GET", `/agent/runs/${ended}/followups`)).body.followups).toEqual([]);
    expect((await server.call("GET", `/agent/runs/${ended}`)).body.state).toBe("CANCELLED");
  });

  test("words to a run at work are taken, files are not", async () => {
    const path = `/agent/runs/${working}/followups`;
    expect((await server.call("POST", path, { body: { message: "faster" } })).status).toBe(200);
    const attachments = [{ file_name: "a", mime_type: "text/plain", data: "aGk=" }];
    expect((await server.call("POST", path, { body: { message: "see", attachments } })).status).toBe(503);
  });

  test("everything can be read, and runs be cancelled and deleted", async () => {
    expect((await server.call("GET", "/agent/runs")).status).toBe(200);
    expect((await server.call("GET", `/agent/runs/${ended}`)).status).toBe(200);
  });

  test("metrics say so", async () => {
    const text = await metrics();
    expect(text).toMatch(/^outrider_intake_open 0$/m);
    expect(Number(/outrider_disk_free_bytes\{folder="data"\} (\d+)/.exec(text)?.[1])).toBeLessThan(
      32 * MEGABYTE,
    );
  });

  test("a worker whose upload finds no room is told to try again, and no part of it stays", async () => {
    const content = randomBytes(30 * MEGABYTE);
    const address = `/worker/blobs/${"a".repeat(64)}`;
    const reply = await fetch(server.base + address, {
      method: "PUT",
      headers: { authorization: `Bearer ${workerKey}`, "content-type": "application/octet-stream" },
      body: Readable.toWeb(Readable.from([content])) as ReadableStream,
      duplex: "half",
    } as RequestInit);
    expect(reply.status).toBe(503);
    expect(reply.headers.get("x-should-retry")).toBe("true");
  });

  test("new runs are taken again once there is room, by themselves", async () => {
    await rm(filler());
    // What an upload said of the full disk counts for half a minute; the other server heard nothing.
    const other = await openIntake({
      folders: { data: disk.folder },
      minFreeBytes: 32 * MEGABYTE,
      brake: released,
      log: pino({ level: "silent" }),
    });
    expect(other.isOpen()).toBe(true);
    await other.stop();
  });
});

describe("the intake", () => {
  const quiet = pino({ level: "silent" });

  test("closes and opens with one line each", async () => {
    const disk = await smallDisk();
    const lines: string[] = [];
    const log = {
      info: (_: object, text: string) => lines.push(text),
      warn: (_: object, text: string) => lines.push(text),
    };
    const intake = await openIntake({
      folders: { data: disk.folder },
      minFreeBytes: 32 * MEGABYTE,
      brake: released,
      log: log as unknown as Logger,
    });
    const isOpen = async () => intake.isOpen();
    await writeFile(join(disk.folder, "filler"), randomBytes(40 * MEGABYTE));
    await until("a closed intake", isOpen, (open) => !open);
    for (let tries = 0; tries < 5; tries++) expect(() => intake.requireOpen()).toThrow(/short of space/);
    await rm(join(disk.folder, "filler"));
    await until("an open intake", isOpen, (open) => open);
    intake.requireOpen();
    expect(lines).toEqual([
      "a disk is short of space: no new runs are taken",
      "there is room again: new runs are taken",
    ]);
    await intake.stop();
    await disk.remove();
  });

  test("closes when the database says that its disk is full, and not for other errors", async () => {
    const intake = await openIntake({ folders: {}, minFreeBytes: 0, brake: released, log: quiet });
    intake.heard(Object.assign(new Error("unique"), { code: "23505" }));
    expect(intake.isOpen()).toBe(true);
    intake.heard(Object.assign(new Error("could not extend file"), { code: "53100" }));
    expect(intake.isOpen()).toBe(false);
    await intake.stop();
  });
});
