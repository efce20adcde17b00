import { createHash } from "node:crypto";
import { readdir, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { openFolder } from "../../src/blobs/folder.ts";
import { openBlobs } from "../../src/engine/blobs.ts";
import { recordChunks } from "../../src/engine/builds/build-chunks.ts";
import { collectBlobs } from "../../src/engine/operations/blob-gc.ts";
import { clean } from "../../src/engine/operations/cleanup.ts";
import { applyRetention, keepAll, type Retention } from "../../src/engine/operations/retention.ts";
import type { RunPolicy } from "../../src/engine/runs/run-policy.ts";
import { openDb } from "../../src/store/connection/db.ts";
import { tryLockRetention } from "../../src/store/retention.ts";
import { type TestServer, testServer } from "../server.ts";

const log = pino({ level: "silent" });
const DAY = 86_400_000;

describe("retention", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await testServer();
  });
  afterAll(() => server.stop());

  const path = (runId: string) => `/agent/runs/${runId}`;
  const blobs = () => openBlobs(openFolder(join(server.dataDir, "blobs")), server.db);
  const only = (some: Partial<Retention>): Retention => ({ ...keepAll, ...some });

  /** Creates a run that was created and cancelled this many days ago. Its ID contains the time. */
  async function oldRun(days: number, body: object = {}): Promise<string> {
    const created = await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello", ...body } });
    const runId = created.body.run_id as string;
    await server.call("POST", `${path(runId)}/cancel`);
    const then = Date.now() - days * DAY;
    const aged = `${then
      .toString(16)
      .padStart(12, "0")
      .replace(/^(.{8})/, "$1-")}${runId.slice(13)}`;
    await server.db.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      for (const table of [
        "runs",
        "run_state",
        "events",
        "run_search",
        "followups",
        "attachments",
        "executions",
        "shares",
      ])
        await tx`update ${tx(table)} set run_id = ${aged} where run_id = ${runId}`;
      await tx`update runs set created_at = ${new Date(then)}, finished_at = ${new Date(then)} where run_id = ${aged}`;
    });
    return aged;
  }

  async function store(text: string): Promise<string> {
    const sha256 = createHash("sha256").update(text).digest("hex");
    await blobs().put(sha256, Readable.from([Buffer.from(text)]));
    return sha256;
  }

  /** Makes the blob look as if it was stored two days ago. */
  async function age(sha256: string) {
    const then = new Date(Date.now() - 2 * DAY);
    await utimes(blobPath(sha256), then, then);
    await server.db`update blobs set stored_at = ${then} where sha256 = ${sha256}`;
  }

  const blobPath = (sha256: string) => join(server.dataDir, "blobs", sha256.slice(0, 2), sha256);
  const isThere = (sha256: string) =>
    stat(blobPath(sha256)).then(
      () => true,
      () => false,
    );

  async function addArtifact(runId: string, text: string, { days = 0, type = "FILE" } = {}) {
    const sha256 = await store(text);
    const [row] = await server.db<{ artifact_id: string }[]>`
      insert into artifacts (artifact_id, run_id, type, name, mime_type, size_bytes, sha256, created_at)
      values (gen_random_uuid(), ${runId}, ${type}, 'a.txt', 'text/plain', ${text.length}, ${sha256},
        ${new Date(Date.now() - days * DAY)}) returning artifact_id`;
    return { sha256, artifactId: row?.artifact_id as string };
  }

  test("removes the events of old runs and shows a notice instead", async () => {
    const [old, young] = [await oldRun(40), await oldRun(3)];
    const taken = await applyRetention(server.db, only({ events: { days: 30 } }));
    expect(taken.events).toBe(2);
    const run = (await server.call("GET", path(old))).body;
    expect(Date.now() - Date.parse(run.removed.events)).toBeLessThan(60_000);
    const { events } = (await server.call("GET", `${path(old)}/events`)).body;
    expect(events).toMatchObject([{ seq: 2, type: "notice", data: { code: "events_removed" } }]);
    const stream = await server.call("GET", `${path(old)}/events`, {
      headers: { accept: "text/event-stream" },
    });
    expect(stream.text).toContain("id: 2\nevent: notice\n");
    const transcript = await server.call("GET", `${path(old)}/transcript`);
    expect(transcript.text).toContain("removed by this installation's retention");
    expect((await server.call("GET", path(young))).body).not.toHaveProperty("removed");
    expect((await server.call("GET", `${path(young)}/events`)).body.events).toHaveLength(2);
  });

  test("a run whose conversation was removed cannot continue and says what to do", async () => {
    const runId = await oldRun(40);
    await applyRetention(server.db, only({ events: { days: 30 } }));
    const reply = await server.call("POST", `${path(runId)}/followups`, { body: { message: "SAY: more" } });
    expect(reply.status).toBe(409);
    expect(reply.body.detail).toMatch(/conversation was removed.*Create a new run/);
  });

  test("keeps runs that have not ended, regardless of their age", async () => {
    const runId = await oldRun(40);
    await server.db`update run_state set state = 'BLOCKED' where run_id = ${runId}`;
    await server.db`update runs set state = 'BLOCKED', finished_at = null where run_id = ${runId}`;
    const all: Retention = { ...keepAll, runs: { days: 1 }, events: { days: 1 }, files: { days: 1 } };
    await applyRetention(server.db, all);
    expect((await server.call("GET", `${path(runId)}/events`)).body.events).toHaveLength(2);
    await server.db`delete from runs where run_id = ${runId}`;
  });

  test("removes events over the size limit, oldest runs first", async () => {
    const [older, newer] = [await oldRun(20), await oldRun(10)];
    await server.db`analyze events`;
    await applyRetention(server.db, only({ events: { bytes: 1024 ** 4 } }));
    expect((await server.call("GET", path(older))).body).not.toHaveProperty("removed");
    const at = async (runId: string) => (await server.call("GET", path(runId))).body.removed?.events;
    // Connections that deleted rows in earlier tests tell the statistics about it late, even after an analyze.
    await vi.waitFor(async () => {
      await server.db`analyze events`;
      await applyRetention(server.db, only({ events: { bytes: 1 } }));
      expect(await at(newer)).toBeTypeOf("string");
    }, waitOptions);
    expect(await at(older)).toBeTypeOf("string");
    expect(Date.parse(await at(older))).toBeLessThanOrEqual(Date.parse(await at(newer)));
  });

  test("removes runs with everything that belongs to them", async () => {
    const attachments = [{ file_name: "a.txt", mime_type: "text/plain", data: "aGk=" }];
    const runId = await oldRun(400, { attachments });
    const { sha256 } = await addArtifact(runId, "of a run that goes");
    await age(sha256);
    await clean(
      { db: server.db, blobs: blobs(), retention: only({ runs: { days: 365 } }), log },
      { collectsBlobs: true },
    );
    expect((await server.call("GET", path(runId))).status).toBe(404);
    for (const table of [
      "runs",
      "run_state",
      "events",
      "run_search",
      "attachments",
      "artifacts",
      "executions",
    ]) {
      expect(await server.db`select 1 from ${server.db(table)} where run_id = ${runId}`, table).toHaveLength(
        0,
      );
    }
    expect(await isThere(sha256)).toBe(false);
  });

  test("removes artifacts by age; the run still lists them, and their URL says why they are missing", async () => {
    const runId = await oldRun(40);
    const old = await addArtifact(runId, "old artifact", { days: 20, type: "PATCH" });
    const young = await addArtifact(runId, "young artifact", { days: 2 });
    await applyRetention(server.db, only({ artifacts: { days: 10 } }));
    const { artifacts } = (await server.call("GET", path(runId))).body;
    expect(artifacts).toMatchObject([
      { artifact_id: old.artifactId, is_removed: true },
      { artifact_id: young.artifactId },
    ]);
    expect(artifacts[1]).not.toHaveProperty("is_removed");
    const address = `/agent/artifacts/${old.artifactId}`;
    expect((await server.call("GET", address)).body.removed_at).toBeTypeOf("string");
    for (const place of [`${address}/content`, `${path(runId)}/diff`]) {
      const reply = await server.call("GET", place);
      expect(reply.status).toBe(404);
      expect(reply.body.detail).toMatch(/deleted by the retention policy on \d{4}-/);
    }
    expect((await server.call("GET", `/agent/artifacts/${young.artifactId}/content`)).text).toBe(
      "young artifact",
    );
  });

  test("removes artifacts by size, oldest first", async () => {
    await server.db`update artifacts set removed_at = outrider_now() where removed_at is null`;
    const runId = await oldRun(40);
    const parts = [];
    for (const days of [9, 8, 7]) parts.push(await addArtifact(runId, `${days}`.repeat(100), { days }));
    await applyRetention(server.db, only({ artifacts: { bytes: 250 } }));
    const { artifacts } = (await server.call("GET", path(runId))).body;
    expect(artifacts.map(({ is_removed }: { is_removed?: true }) => is_removed ?? false)).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("removes files and then unused builds, except the newest of an environment", async () => {
    const runId = await oldRun(40);
    const { body } = await server.call("POST", "/agent/environments", { body: { name: "built" } });
    const build = (days: number) => server.db<{ build_id: string }[]>`
      insert into builds (build_id, environment_id, version, config, state, sha256, size_bytes, created_at, finished_at)
      select gen_random_uuid(), ${body.environment_id}, 1, '{}', 'READY', ${"b".repeat(64)}, 1, t, t
      from (select outrider_now() - ${days} * interval '1 day' as t) at returning build_id`;
    const [pinned] = await build(30);
    const [unused] = await build(20);
    const [newest] = await build(15);
    const snapshot = await store("a snapshot");
    await server.db`update runs set snapshot_sha256 = ${snapshot}, build_id = ${pinned?.build_id as string} where run_id = ${runId}`;
    const left = async () =>
      (await server.db`select build_id from builds order by created_at`).map(({ build_id }) => build_id);

    await applyRetention(server.db, only({ builds: { days: 10 } }));
    expect(await left()).toEqual([pinned?.build_id, newest?.build_id]);
    expect(unused?.build_id).not.toBe(newest?.build_id);
    const taken = await applyRetention(server.db, only({ files: { days: 10 }, builds: { days: 10 } }));
    expect(taken).toMatchObject({ files: 1, builds: 1 });
    expect(await left()).toEqual([newest?.build_id]);
    expect((await server.call("GET", path(runId))).body.removed).toHaveProperty("files");
    const reply = await server.call("POST", `${path(runId)}/followups`, { body: { message: "SAY: more" } });
    expect(reply.body.detail).toMatch(/files were removed/);
  });

  test("counts a chunk of several builds once, for the newest of them", async () => {
    await server.db`delete from builds`;
    const { body } = await server.call("POST", "/agent/environments", { body: { name: "shares chunks" } });
    const chunks = await Promise.all(["a", "b", "c"].map((text) => store(text.repeat(100))));
    const build = async (days: number, used: (string | undefined)[]) => {
      const [row] = await server.db<{ build_id: string }[]>`
        insert into builds (build_id, environment_id, version, config, state, sha256, size_bytes, created_at, finished_at)
        select gen_random_uuid(), ${body.environment_id}, 1, '{}', 'READY', ${"b".repeat(64)}, 200, t, t
        from (select outrider_now() - ${days} * interval '1 day' as t) at returning build_id`;
      for (const sha256 of used)
        await server.db`insert into build_chunks values (${row?.build_id as string}, ${sha256 as string})`;
    };
    await build(3, [chunks[0], chunks[1]]);
    await build(2, [chunks[1], chunks[2]]);
    await build(1, [chunks[1], chunks[2]]);
    const count = async (bytes: number) =>
      (await applyRetention(server.db, only({ builds: { bytes } }))).builds;
    expect(await count(300)).toBe(0);
    expect(await count(250)).toBe(1);
  });

  test("is applied by one server at a time", async () => {
    await oldRun(40);
    const other = openDb(server.databaseUrl, { connections: 1 });
    const while_another_cleans = await other.begin(async (tx) => {
      expect(await tryLockRetention(tx)).toBe(true);
      return applyRetention(server.db, only({ events: { days: 30 } }));
    });
    await other.end();
    expect(while_another_cleans).toMatchObject({ events: 0 });
    expect((await applyRetention(server.db, only({ events: { days: 30 } }))).events).toBeGreaterThan(0);
  });

  test("deletes only old idempotency keys", async () => {
    const headers = { "idempotency-key": "kept" };
    await server.call("POST", "/agent/run", { body: { prompt: "SAY: a" }, headers });
    await server.call("POST", "/agent/run", {
      body: { prompt: "SAY: a" },
      headers: { "idempotency-key": "old" },
    });
    await server.db`update idempotency_keys set created_at = created_at - interval '25 hours' where key = 'old'`;
    expect((await applyRetention(server.db, keepAll)).idempotency_keys).toBe(1);
    expect(await server.db`select key from idempotency_keys`).toMatchObject([{ key: "kept" }]);
  });

  test("content that does not match its hash is not stored", async () => {
    const sha256 = "0".repeat(64);
    await expect(blobs().put(sha256, Readable.from([Buffer.from("other")]))).rejects.toThrow(
      "does not match",
    );
    expect(await readdir(dirname(blobPath(sha256)))).toEqual([]);
    expect(await server.db`select 1 from blobs where sha256 = ${sha256}`).toHaveLength(0);
  });

  test("a blob is not stored if its row cannot be written", async () => {
    const content = Buffer.from("without a row");
    const sha256 = createHash("sha256").update(content).digest("hex");
    await server.db`alter table blobs add constraint refused check (sha256 <> ${server.db.unsafe(`'${sha256}'`)})`;
    await expect(blobs().put(sha256, Readable.from([content]))).rejects.toThrow("refused");
    await server.db`alter table blobs drop constraint refused`;
    expect(await readdir(dirname(blobPath(sha256)))).toEqual([]);
  });

  describe("garbage collection of blobs", () => {
    test("removes unreferenced blobs after a day", async () => {
      const [old, young] = [await store("old and unnamed"), await store("young and unnamed")];
      const named = await addArtifact(await oldRun(1), "old and named");
      await age(old);
      await age(named.sha256);
      await collectBlobs(server.db, blobs().storage);
      expect(await Promise.all([old, young, named.sha256].map(isThere))).toEqual([false, true, true]);
    });

    test("keeps a blob that is stored again meanwhile", async () => {
      const sha256 = await store("stored twice");
      await age(sha256);
      // The row is locked as during a collection; the second upload waits, and the file exists in the end.
      const uploaded = await server.db.begin(async (tx) => {
        await tx`delete from blobs where sha256 = ${sha256}`;
        const again = store("stored twice");
        await waiting(server, "insert into blobs");
        return { again };
      });
      await uploaded.again;
      await collectBlobs(server.db, blobs().storage);
      expect(await isThere(sha256)).toBe(true);
    });

    test("keeps the chunks of builds, and tells a worker to upload those that are being removed", async () => {
      const { body } = await server.call("POST", "/agent/environments", { body: { name: "in chunks" } });
      const [build] = await server.db<{ build_id: string; token: string }[]>`
        insert into builds (build_id, environment_id, version, config, state, token, lease_expires_at)
        values (gen_random_uuid(), ${body.environment_id}, 1, '{}', 'BUILDING', gen_random_uuid(), outrider_now())
        returning build_id, token`;
      const { build_id, token } = build as { build_id: string; token: string };
      const [shared, removing] = [
        await store("a shared chunk"),
        await store("a chunk that is being removed"),
      ];
      await age(shared);
      await age(removing);
      const context = { policy: { leaseMs: 60_000 } as RunPolicy, blobs: blobs() };
      const record = (chunks: string[]) =>
        server.db.begin((tx) => recordChunks(tx, context, build_id, { token, chunks }));
      const never = "e".repeat(64);
      // The row is locked as during a collection, which the worker's question waits for.
      const { answer } = await server.db.begin(async (tx) => {
        await tx`delete from blobs where sha256 = ${removing}`;
        const answer = record([shared, removing, never]);
        await waiting(server, "with found");
        return { answer };
      });
      expect(await answer).toEqual([removing, never]);
      await collectBlobs(server.db, blobs().storage);
      expect(await isThere(shared)).toBe(true);
      // A reference protects a chunk of any age, and a file that was lost is uploaded again.
      await age(shared);
      await collectBlobs(server.db, blobs().storage);
      expect(await isThere(shared)).toBe(true);
      await rm(blobPath(shared));
      expect(await record([shared])).toEqual([shared]);

      await store("a shared chunk");
      await age(shared);
      await server.db`delete from builds where build_id = ${build_id}`;
      await collectBlobs(server.db, blobs().storage);
      expect(await isThere(shared)).toBe(false);
      await expect(record([shared])).rejects.toThrow("does not belong to this worker");
    });

    test("keeps the bundles of staged commits and of publications that are not pushed", async () => {
      const runId = await oldRun(3);
      await server.db`update runs set snapshot_sha256 = ${await store("snapshot")} where run_id = ${runId}`;
      const [staged, queued, done] = [await store("staged"), await store("queued"), await store("done")];
      await server.db`
        insert into staged_commits (run_id, path, turn, base_commit, tip, bundle_sha256, bundle_bytes, details)
        values (${runId}, 'api', 1, 'a', 'b', ${staged}, 6,
          '{"files": [], "secrets": [], "problems": [], "diff_bytes": 1, "commits": 1, "has_more_files": false}')`;
      for (const [sha256, state] of [
        [queued, "QUEUED"],
        [done, "DONE"],
      ])
        await server.db`
          insert into publications (publication_id, run_id, turn, path, repository, kind, state, branch, base_commit, tip,
            bundle_sha256, bundle_bytes, title, body, files_changed, diff_bytes, requested_by)
          values (gen_random_uuid(), ${runId}, 1, 'api', 'u', 'branch', ${state as string}, 'b', 'a', 'b', ${sha256 as string},
            6, 't', '', 1, 1, '{"type": "policy"}')`;
      for (const sha256 of [staged, queued, done]) await age(sha256);
      await collectBlobs(server.db, blobs().storage);
      expect(await Promise.all([staged, queued, done].map(isThere))).toEqual([true, true, false]);

      // Retention of files removes the bundle, and the commits can then no longer be downloaded.
      await applyRetention(server.db, only({ files: { days: 1 } }));
      await collectBlobs(server.db, blobs().storage);
      expect(await Promise.all([staged, queued].map(isThere))).toEqual([false, true]);
      const download = await server.call("GET", `${path(runId)}/commits`);
      expect(download.status).toBe(404);
      expect(download.body.detail).toContain("retention");

      await server.call("DELETE", path(runId));
      await collectBlobs(server.db, blobs().storage);
      expect(await isThere(queued)).toBe(false);
    });

    test("adopts files of an earlier version and keeps them for a day", async () => {
      const sha256 = await store("without a row");
      await age(sha256);
      await server.db`delete from blobs where sha256 = ${sha256}`;
      await collectBlobs(server.db, blobs().storage);
      expect(await isThere(sha256)).toBe(true);
      await age(sha256);
      await collectBlobs(server.db, blobs().storage);
      expect(await isThere(sha256)).toBe(false);
    });

    test("removes temporary files of interrupted uploads", async () => {
      const sha256 = await store("whole");
      const wrong = "c".repeat(64);
      await expect(blobs().put(wrong, Readable.from([Buffer.from("else")]))).rejects.toThrow(/SHA-256/);
      const folders = [sha256.slice(0, 2), "cc"].map((part) => join(server.dataDir, "blobs", part));
      for (const folder of folders)
        expect((await readdir(folder)).filter((name) => name.endsWith(".part"))).toEqual([]);
    });
  });
});

/** Waits until a statement that starts like this waits for a lock. */
async function waiting(server: TestServer, begins: string): Promise<void> {
  for (const deadline = Date.now() + 40_000; Date.now() < deadline; ) {
    const rows = await server.db`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and ltrim(query, E' \n') like ${`${begins}%`}`;
    if (rows.length > 0) return;
  }
  throw new Error(`Nobody waits with: ${begins}`);
}
