import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type Logger, pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openAdmission } from "../../src/engine/dispatch/admission.ts";
import { type TestServer, testServer } from "../server.ts";

const MEGABYTE = 1024 ** 2;

const released = { acceptsRuns: () => true, requireAdmission() {} };

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
  for (const deadline = Date.now() + 40_000; Date.now() < deadline; ) {
    const seen = await look();
    if (holds(seen)) return seen;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`In vain waited for: ${what}.`);
}

describe("while the data folder's disk is low on space", () => {
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
    await server.db`update run_state set state = 'INPROGRESS', execution_id = gen_random_uuid(),
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

  test("rejects new runs with 503 and a remedy, retryable", async () => {
    const { status, body, headers } = await create();
    expect(status).toBe(503);
    expect(body).toMatchObject({ error_code: "resource_unavailable", retryable: true });
    expect(body.detail).toMatch(/low on disk space.*operator/);
    expect(headers.get("retry-after")).toBe("1");
  });

  test("rejects a follow-up that would start a turn, without side effects", async () => {
    const reply = await server.call("POST", `/agent/runs/${ended}/followups`, {
      body: { message: "SAY: more" },
    });
    expect(reply.status).toBe(503);
    expect((await server.call("GET", `/agent/runs/${ended}/followups`)).body.followups).toEqual([]);
    expect((await server.call("GET", `/agent/runs/${ended}`)).body.state).toBe("CANCELLED");
  });

  test("accepts messages to an active run, but no files", async () => {
    const path = `/agent/runs/${working}/followups`;
    expect((await server.call("POST", path, { body: { message: "faster" } })).status).toBe(200);
    const attachments = [{ file_name: "a", mime_type: "text/plain", data: "aGk=" }];
    expect((await server.call("POST", path, { body: { message: "see", attachments } })).status).toBe(503);
  });

  test("allows reading, cancelling and deleting", async () => {
    expect((await server.call("GET", "/agent/runs")).status).toBe(200);
    expect((await server.call("GET", `/agent/runs/${ended}`)).status).toBe(200);
  });

  test("shows it in metrics", async () => {
    const text = await metrics();
    expect(text).toMatch(/^outrider_admission_open 0$/m);
    expect(Number(/outrider_disk_free_bytes\{folder="data"\} (\d+)/.exec(text)?.[1])).toBeLessThan(
      32 * MEGABYTE,
    );
  });

  test("asks a worker to retry an upload that does not fit, and leaves no partial file", async () => {
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

  test("accepts new runs again when space is freed", async () => {
    await rm(filler());
    // The out-of-space error of an upload counts for half a minute on this server, but not on the other.
    const other = await openAdmission({
      folders: { data: disk.folder },
      minFreeBytes: 32 * MEGABYTE,
      maintenance: released,
      log: pino({ level: "silent" }),
    });
    expect(other.isOpen()).toBe(true);
    await other.stop();
  });
});

describe("admission", () => {
  const quiet = pino({ level: "silent" });

  test("logs one line when it closes and one when it opens", async () => {
    const disk = await smallDisk();
    const lines: string[] = [];
    const log = {
      info: (_: object, text: string) => lines.push(text),
      warn: (_: object, text: string) => lines.push(text),
    };
    const admission = await openAdmission({
      folders: { data: disk.folder },
      minFreeBytes: 32 * MEGABYTE,
      maintenance: released,
      log: log as unknown as Logger,
    });
    const isOpen = async () => admission.isOpen();
    await writeFile(join(disk.folder, "filler"), randomBytes(40 * MEGABYTE));
    await until("a closed admission", isOpen, (open) => !open);
    for (let tries = 0; tries < 5; tries++)
      expect(() => admission.requireOpen()).toThrow(/low on disk space/);
    await rm(join(disk.folder, "filler"));
    await until("an open admission", isOpen, (open) => open);
    admission.requireOpen();
    expect(lines).toEqual(["low disk space, rejecting new runs", "disk space recovered, accepting new runs"]);
    await admission.stop();
    await disk.remove();
  });

  test("closes on an out-of-space error of the database, and not on other errors", async () => {
    const admission = await openAdmission({
      folders: {},
      minFreeBytes: 0,
      maintenance: released,
      log: quiet,
    });
    admission.noteError(Object.assign(new Error("unique"), { code: "23505" }));
    expect(admission.isOpen()).toBe(true);
    admission.noteError(Object.assign(new Error("could not extend file"), { code: "53100" }));
    expect(admission.isOpen()).toBe(false);
    await admission.stop();
  });
});
