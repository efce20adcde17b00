import { createHash, randomBytes, randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { blobPath, openFolder } from "../../src/blobs/folder.ts";
import { readMasterKey } from "../../src/engine/auth/master-key.ts";
import { openVault } from "../../src/engine/auth/vault.ts";
import { openBackupFile } from "../../src/engine/operations/backup/file.ts";
import { type BackupOptions, takeBackup } from "../../src/engine/operations/backup.ts";
import { collectBlobs } from "../../src/engine/operations/blob-gc.ts";
import { checkBackup, resolveMasterKey, restoreBackup } from "../../src/engine/operations/restore.ts";
import { copyOut } from "../../src/store/backup/copy.ts";
import { copySettings, inSnapshot } from "../../src/store/backup/snapshot.ts";
import { listTables, type Table } from "../../src/store/backup/tables.ts";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { workedRun } from "../runs/shares/worked-run.ts";
import { type TestServer, testDatabase, testServer } from "../server.ts";

const SECRET = "a value that only the master key opens";
const PASSPHRASE = "correct horse battery staple";

let server: TestServer;
let db: Db;
let place: string;
let folder: string;
let masterKey: Buffer;
let worked: Awaited<ReturnType<typeof workedRun>>;
let waiting: string;
let held: { run_id: string; execution_id: string };
let whole: string;
/** Out of `whole`, for tests that do not change it. */
let copy: Db;
let dropCopy: () => Promise<void>;

beforeAll(async () => {
  server = await testServer();
  db = openDb(server.databaseUrl, { connections: 2, settings: copySettings });
  place = await mkdtemp(join(tmpdir(), "outrider-backup-"));
  folder = join(server.dataDir, "blobs");
  masterKey = (await readMasterKey(server.dataDir)) as Buffer;
  await server.call("PUT", "/agent/secrets/KEPT", { body: { value: SECRET } });
  worked = await workedRun(server, server.key);
  // What a format of lines and tabs could trip over.
  const prompt = 'SAY: tab\there\\N \\. back\\slash "quote" \u2028 \u{1f680}\r\nSAY: next\n\\.\n';
  held = await hold(await create(prompt));
  waiting = await create("SAY: waits");
  await stageCommits(waiting);
  await server.call("POST", `/agent/runs/${waiting}/followups`, { body: { message: "SAY: more" } });
  await db`update events set private = '{"replay": {"model": "m", "parts": []}}' where run_id = ${waiting}`;
  whole = join(place, "whole.backup");
  await take({ path: whole, key: { masterKey, passphrase: PASSPHRASE } });
  const database = await testDatabase();
  copy = openDb(database.url, { connections: 2, settings: copySettings });
  dropCopy = async () => {
    await copy.end();
    await database.drop();
  };
  const backup = await checkBackup(whole);
  await restoreBackup({ db: copy, storage: openFolder(join(place, "blobs")), backup });
});

afterAll(async () => {
  await dropCopy();
  await db.end();
  await server.stop();
  rmSync(place, { recursive: true, force: true });
});

const create = async (prompt: string) =>
  (await server.call("POST", "/agent/run", { body: { prompt } })).body.run_id as string;

const BUNDLE = "a bundle of commits";
const bundleHash = createHash("sha256").update(BUNDLE).digest("hex");

/** Stores commits of a run, and a publication of them that a worker is pushing. */
async function stageCommits(run_id: string) {
  const { key } = (await server.call("POST", "/keys", { body: { name: "stager", type: "worker" } })).body;
  const headers = { authorization: `Bearer ${key}` };
  await fetch(`${server.base}/worker/blobs/${bundleHash}`, { method: "PUT", headers, body: BUNDLE });
  await db`
    insert into staged_commits (run_id, path, turn, base_commit, tip, bundle_sha256, bundle_bytes, details)
    values (${run_id}, 'api', 1, 'a', 'b', ${bundleHash}, ${BUNDLE.length}, '{}')`;
  await db`
    insert into publications (publication_id, run_id, turn, path, repository, kind, state, branch, base_commit, tip,
      title, body, files_changed, diff_bytes, requested_by, token, lease_expires_at)
    values (gen_random_uuid(), ${run_id}, 1, 'api', 'u', 'branch', 'PUSHING', 'b', 'a', 'b', 't', '', 1, 1,
      '{"type": "policy"}', gen_random_uuid(), 'infinity')`;
}

/** A worker claims the run and disappears. */
async function hold(run_id: string) {
  const { key } = (await server.call("POST", "/keys", { body: { name: "holder", type: "worker" } })).body;
  const worker = { worker_id: randomUUID(), name: "holder", version: "0", slots: 1 };
  const body = { request_id: randomUUID(), worker, free: 1, wait_ms: 0 };
  const { executions } = (await server.call("POST", "/worker/claim", { body, key })).body;
  expect(executions).toMatchObject([{ run_id }]);
  return { run_id, execution_id: executions[0].execution_id as string };
}

/** Uses its own connections, like a command: a connection that was closed during a copy cannot be reused. */
async function take(options: Partial<BackupOptions> & { path: string }) {
  const own = openDb(server.databaseUrl, { connections: 2, settings: copySettings });
  try {
    return await takeBackup({ db: own, storage: openFolder(folder), version: "1.2.3", ...options });
  } finally {
    await own.end({ timeout: 0 });
  }
}

/** Creates an empty database and a folder for files. */
async function emptyPlace() {
  const database = await testDatabase();
  const target = openDb(database.url, { connections: 2, settings: copySettings });
  const blobs = await mkdtemp(join(place, "blobs-"));
  onTestFinished(async () => {
    await target.end();
    await database.drop();
  });
  return { db: target, folder: blobs, storage: openFolder(blobs) };
}

async function restored(path: string) {
  const target = await emptyPlace();
  await restoreBackup({ ...target, backup: await checkBackup(path) });
  return target;
}

/** Returns all rows of a table as text, in a fixed order. */
const rowsOf = async (from: Db, table: string) =>
  (await from`select t::text as row from ${from(table)} t order by 1`).map(({ row }) => row as string);

const changed = [
  ...["run_state", "events", "executions", "keys", "sessions", "sign_in_links", "blobs"],
  "publications",
];

describe("a restored installation", () => {
  test("has every row of every table, except for what a restore revokes", async () => {
    const tables = (await listTables(db)).map(({ name }) => name);
    expect(tables).toEqual(expect.arrayContaining([...changed, "runs", "secrets", "followups", "artifacts"]));
    for (const table of tables.filter((name) => !changed.includes(name)))
      expect(await rowsOf(copy, table), table).toEqual(await rowsOf(db, table));
    const others = (from: Db) =>
      from`select * from events where run_id <> ${held.run_id} order by run_id, seq`.then((rows) => [
        ...rows,
      ]);
    expect(await others(copy)).toEqual(await others(db));
  });

  test("has the same columns, indexes and constraints as a migrated database", async () => {
    const shape = async (from: Db) => [
      ...(await from`select indexdef from pg_indexes where schemaname = 'public' order by 1`),
      ...(await from`
        select conname, conrelid::regclass::text, pg_get_constraintdef(oid) as def, convalidated from pg_constraint
        where connamespace = 'public'::regnamespace order by 1, 2`),
      ...(await from`
        select table_name, column_name, data_type, column_default, is_nullable from information_schema.columns
        where table_schema = 'public' order by 1, 2`),
    ];
    expect(await shape(copy)).toEqual(await shape(db));
  });

  test("continues its sequences", async () => {
    const [row] = await copy`
      insert into followups (followup_id, run_id, message, mode, created_at)
      select gen_random_uuid(), run_id, 'x', 'auto', now() from followups limit 1
      returning position > all (select position from followups) as is_behind`;
    expect(row?.is_behind).toBe(true);
  });

  test("has no leases: active runs wait for another worker without losing an attempt", async () => {
    const [head] = await copy`select * from run_state where run_id = ${held.run_id}`;
    expect(head).toMatchObject({ state: "INPROGRESS", execution_id: null, worker_id: null, attempt: 0 });
    const [last] = await copy`
      select type, data from events where run_id = ${held.run_id} order by seq desc limit 1`;
    expect(last).toMatchObject({ type: "run.recovering", data: { reason: expect.stringMatching(/backup/) } });
    const open = await copy`select 1 from executions where ended_at is null`;
    expect(open).toHaveLength(0);
  });

  test("has the commits of runs, and pushes again what a worker was pushing", async () => {
    expect(readFileSync(blobPath(join(place, "blobs"), bundleHash), "utf8")).toBe(BUNDLE);
    const rows = await copy`select state, next_attempt_at <= outrider_now() as is_due from publications`;
    expect([...rows]).toEqual([{ state: "QUEUED", is_due: true }]);
  });

  test("does not count the time since the backup as waiting or work", async () => {
    const target = await emptyPlace();
    const backup = await checkBackup(whole);
    const days = (count: number) => count * 86_400_000;
    const taken_at = new Date(Date.parse(backup.manifest.taken_at) - days(3)).toISOString();
    await restoreBackup({ ...target, backup: { ...backup, manifest: { ...backup.manifest, taken_at } } });
    const times = async (from: Db) => {
      const [queued] = await from`select queued_at as at from run_state where run_id = ${waiting}`;
      const [turn] = await from`select turn_deadline_at as at from run_state where run_id = ${held.run_id}`;
      return [queued?.at, turn?.at].map((at) => Date.parse(at as string));
    };
    const before = await times(db);
    for (const [index, at] of (await times(target.db)).entries())
      expect(Math.abs(at - (before[index] as number) - days(3))).toBeLessThan(120_000);
  });

  test("keeps users' keys, and revokes local worker keys, sessions and sign-in links", async () => {
    await db`update keys set is_local = true where name = 'holder'`;
    const path = join(place, "entrances.backup");
    await take({ path });
    const target = await restored(path);
    const keys = await target.db`select name, revoked_at is null as works from keys order by name`;
    expect(keys).toEqual(
      expect.arrayContaining([
        { name: "first key", works: true },
        { name: "holder", works: false },
      ]),
    );
    expect(await rowsOf(db, "sign_in_links")).not.toEqual([]);
    expect(await rowsOf(target.db, "sign_in_links")).toEqual([]);
    expect(await target.db`select 1 from sessions where ended_at is null`).toHaveLength(0);
  });

  test("has the files of runs, and reads secrets with the included key", async () => {
    const backup = await checkBackup(whole);
    const { key } = await resolveMasterKey(backup.manifest, undefined, async () => PASSPHRASE);
    const files = await copy<{ sha256: string }[]>`
      select sha256 from artifacts union select snapshot_sha256 from runs where snapshot_sha256 is not null`;
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const { sha256 } of files)
      expect(
        createHash("sha256")
          .update(readFileSync(blobPath(join(place, "blobs"), sha256)))
          .digest("hex"),
      ).toBe(sha256);
    // The other one is the bundle of commits.
    expect(await rowsOf(copy, "blobs")).toHaveLength(files.length + 1);
    const [secret] = await copy<{ sealed: Buffer }[]>`select sealed from secrets where name = 'KEPT'`;
    expect(openVault(key as Buffer).open(secret?.sealed as Buffer, "secret KEPT")).toBe(SECRET);
  });
});

describe("the master key", () => {
  test("is included only on request, and always encrypted", async () => {
    const path = join(place, "keyless.backup");
    const { master_key } = await take({ path });
    expect(master_key.sealed).toBeUndefined();
    const { manifest } = await openBackupFile(path);
    expect(await resolveMasterKey(manifest, undefined, async () => "not asked for")).toEqual({
      isNew: false,
    });
    const bytes = readFileSync(whole);
    for (const form of [masterKey, masterKey.toString("base64"), masterKey.toString("hex"), PASSPHRASE])
      expect(bytes.includes(form)).toBe(false);
  });

  test("opens only with its passphrase", async () => {
    const { manifest } = await openBackupFile(whole);
    await expect(resolveMasterKey(manifest, undefined, async () => `${PASSPHRASE} `)).rejects.toThrow(
      "The passphrase is wrong",
    );
    expect(await resolveMasterKey(manifest, undefined, async () => PASSPHRASE)).toEqual({
      key: masterKey,
      isNew: true,
    });
  });

  test("that already exists must match, and then no passphrase is needed", async () => {
    const { manifest } = await openBackupFile(whole);
    const never = () => Promise.reject(new Error("asked"));
    expect(await resolveMasterKey(manifest, masterKey, never)).toEqual({ key: masterKey, isNew: false });
    await expect(resolveMasterKey(manifest, randomBytes(32), never)).rejects.toThrow("OUTRIDER_MASTER_KEY");
  });

  test("of another installation is not included in a backup", async () => {
    const path = join(place, "stranger.backup");
    const key = { masterKey: randomBytes(32), passphrase: PASSPHRASE };
    await expect(take({ path, key })).rejects.toThrow("does not match the database");
    expect(readdirSync(place).filter((name) => name.startsWith("stranger"))).toEqual([]);
  });
});

describe("an invalid or newer backup file", () => {
  test.each([
    ["cut by one byte", (bytes: Buffer) => bytes.subarray(0, -1), "truncated or damaged"],
    ["cut in the middle", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2), "truncated or damaged"],
    ["cut behind its first line", (bytes: Buffer) => bytes.subarray(0, 18), "truncated or damaged"],
    ["with a changed byte in its rows", (bytes: Buffer) => flip(bytes, 1_000), "truncated or damaged"],
    [
      "with a changed byte in its checksum",
      (bytes: Buffer) => flip(bytes, bytes.length - 1),
      "truncated or damaged",
    ],
    ["with more behind its end", (bytes: Buffer) => Buffer.concat([bytes, bytes]), "truncated or damaged"],
    ["of another kind", () => Buffer.from("PGDMP"), "is not an Outrider backup"],
    ["that is empty", () => Buffer.alloc(0), "is not an Outrider backup"],
    [
      "of a newer format",
      (bytes: Buffer) => Buffer.concat([Buffer.from("outrider-backup 2\n"), bytes.subarray(18)]),
      "newer version of Outrider",
    ],
  ])("%s is rejected", async (_, change, says) => {
    const path = join(place, `${randomUUID()}.backup`);
    writeFileSync(path, change(readFileSync(whole)));
    await expect(checkBackup(path)).rejects.toThrow(says);
  });

  test("with unknown migrations is rejected", async () => {
    const path = join(place, "newer.backup");
    writeFileSync(
      path,
      resigned(readFileSync(whole), (json) => json.replace(/"number":1,/, '"number":9001,')),
    );
    await expect(checkBackup(path)).rejects.toThrow("newer version of Outrider");
    writeFileSync(
      path,
      resigned(readFileSync(whole), (json) => json.replace(/"checksum":"./, '"checksum":"x')),
    );
    await expect(checkBackup(path)).rejects.toThrow("a different 0001_ground_floor.sql");
  });

  test("that does not match its manifest leaves the database empty", async () => {
    const path = join(place, "counts.backup");
    const more = (json: string) => json.replace(/"runs":\{"rows":/, '"runs":{"rows":1');
    writeFileSync(path, resigned(readFileSync(whole), more));
    const target = await emptyPlace();
    await expect(restoreBackup({ ...target, backup: await checkBackup(path) })).rejects.toThrow(
      "rows of runs",
    );
    expect(await listTables(target.db)).toEqual([]);
  });
});

describe("a restore", () => {
  test("into a database that is not empty is rejected and changes nothing", async () => {
    const target = await emptyPlace();
    await target.db`create table somebodys (value text)`;
    await expect(restoreBackup({ ...target, backup: await checkBackup(whole) })).rejects.toThrow("not empty");
    expect((await listTables(target.db)).map(({ name }) => name)).toEqual(["somebodys"]);
    expect(readdirSync(target.folder)).toEqual([]);
  });

  test("that was interrupted can be repeated", async () => {
    const target = await emptyPlace();
    const backup = await checkBackup(whole);
    const interruption = new AbortController();
    const broken = restoreBackup({
      ...target,
      backup,
      signal: interruption.signal,
      progress: ({ what }) => what === "keys" && interruption.abort(),
    });
    await expect(broken).rejects.toThrow("aborted");
    expect(await listTables(target.db)).toEqual([]);
    const unreadable: typeof backup.entries = async function* () {
      for await (const entry of backup.entries()) {
        const isLast = "table" in entry.heading && entry.heading.table === "runs";
        yield isLast ? { ...entry, content: breakingOff(entry.content) } : entry;
      }
    };
    const unread = restoreBackup({ ...target, backup: { ...backup, entries: unreadable } });
    await expect(unread).rejects.toThrow("the disk is broken");
    expect(await listTables(target.db)).toEqual([]);

    await restoreBackup({ ...target, backup });
    expect(await rowsOf(target.db, "runs")).toEqual(await rowsOf(db, "runs"));
  });
});

describe("a backup", () => {
  test("does not overwrite a file, and leaves nothing behind when it fails or is interrupted", async () => {
    await expect(take({ path: whole })).rejects.toThrow("already exists");
    const path = join(place, "broken.backup");
    const interruption = new AbortController();
    const progress = () => interruption.abort();
    await expect(take({ path, signal: interruption.signal, progress })).rejects.toThrow("aborted");
    expect(readdirSync(place).filter((name) => name.startsWith("broken"))).toEqual([]);
    await take({ path });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test.each([60_000, 65_536, 70_000, 150_000])(
    "goes on behind a table whose last row has %i bytes",
    async (bytes) => {
      const rows = await db.begin(async (tx) => {
        await tx.unsafe(
          `create temporary table "wide" ("text") on commit drop as select repeat('x', ${bytes})`,
        );
        let read = 0;
        for await (const chunk of copyOut(tx, { name: "wide", columns: ["text"] } as Table))
          read += chunk.length;
        // On the same connection, which stood still where the rows ended before their reader had taken all of them.
        await tx`select 1`;
        return read;
      });
      expect(rows).toBe(bytes + 1);
    },
  );

  test("that is interrupted in a large table ends at once, with its connection", async () => {
    const run_id = randomUUID();
    await db`
      insert into events (run_id, seq, type, created_at, turn, attempt, data)
      select ${run_id}, n, 'notice', now(), 1, 1, jsonb_build_object('message', repeat(md5(n::text), 30))
      from generate_series(1, 30000) n`;
    const own = openDb(server.databaseUrl, { connections: 2, settings: copySettings });
    onTestFinished(async () => {
      await own.end({ timeout: 1 });
      await db`delete from events where run_id = ${run_id}`;
    });
    const interruption = new AbortController();
    let rows = 0;
    const broken = take({
      db: own,
      path: join(place, "large.backup"),
      signal: interruption.signal,
      progress: ({ what, done }) => {
        if (what !== "events") return;
        rows = done;
        if (done > 1_000) interruption.abort();
      },
    });
    await expect(broken).rejects.toThrow("aborted");
    expect(rows).toBeLessThan(30_000);
    const others = await server.db`
      select query from pg_stat_activity where datname = current_database() and query ilike 'copy %' and state = 'active'`;
    expect(others).toHaveLength(0);
    expect((await take({ path: join(place, "after.backup") })).tables.events?.rows).toBeGreaterThan(30_000);
  });

  test("keeps the files of its snapshot until it is done, even of runs that are deleted meanwhile", async () => {
    const other = await workedRun(server, server.key);
    const content = `left by ${other.run_id}`;
    const sha256 = createHash("sha256").update(content).digest("hex");
    const file = blobPath(folder, sha256);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    const long = new Date("2020-01-01");
    utimesSync(file, long, long);
    await db`update artifacts set sha256 = ${sha256} where artifact_id = ${other.artifact_id}`;
    await db`insert into blobs values (${sha256}, ${content.length}, ${long})`;
    await inSnapshot(db, async (tx) => {
      await server.call("DELETE", `/agent/runs/${other.run_id}`);
      expect(await collectBlobs(server.db, openFolder(folder))).toBe(0);
      expect(await tx`select 1 from artifacts where sha256 = ${sha256}`).toHaveLength(1);
      expect(existsSync(file)).toBe(true);
    });
    expect(await collectBlobs(server.db, openFolder(folder))).toBe(1);
    expect(existsSync(file)).toBe(false);
  });

  test("omits builds that no run uses, unless requested; they are built again", async () => {
    const { environment_id } = (await server.call("POST", "/agent/environments", { body: { name: "built" } }))
      .body;
    const write = (content: string) => {
      const sha256 = createHash("sha256").update(content).digest("hex");
      mkdirSync(dirname(blobPath(folder, sha256)), { recursive: true });
      writeFileSync(blobPath(folder, sha256), content);
      return sha256;
    };
    const keep = async (content: string) => {
      const [sha256, chunk] = [write(content), write(`chunk ${content}`)];
      const build_id = randomUUID();
      await db`
        insert into builds (build_id, environment_id, version, config, state, sha256, size_bytes)
        values (${build_id}, ${environment_id}, 1, '{}', 'READY', ${sha256}, ${content.length})`;
      await db`insert into build_chunks values (${build_id}, ${chunk})`;
      return { build_id, chunk };
    };
    const [needed, other] = [await keep("below a run"), await keep("below nothing")];
    await db`update runs set build_id = ${needed.build_id} where run_id = ${worked.run_id}`;
    onTestFinished(async () => {
      await db`update runs set build_id = null`;
      await db`delete from builds`;
    });
    const builds = async (name: string, withBuilds: boolean) => {
      const path = join(place, name);
      await take({ path, withBuilds });
      const target = await restored(path);
      const rows = await target.db<
        { build_id: string; sha256: string; chunk: string }[]
      >`select build_id, b.sha256, c.sha256 as chunk from builds b join build_chunks c using (build_id)`;
      for (const { sha256, chunk } of rows)
        for (const hash of [sha256, chunk]) expect(existsSync(blobPath(target.folder, hash))).toBe(true);
      expect(existsSync(blobPath(target.folder, other.chunk))).toBe(withBuilds);
      return rows.map(({ build_id }) => build_id).toSorted();
    };
    expect(await builds("needed.backup", false)).toEqual([needed.build_id]);
    expect(await builds("builds.backup", true)).toEqual([needed.build_id, other.build_id].toSorted());
  });

  test("fails if a file of a run is missing, unless told to skip missing files", async () => {
    const [row] = await db<{ sha256: string }[]>`
      select sha256 from artifacts where artifact_id = ${worked.artifact_id}`;
    const file = blobPath(folder, row?.sha256 as string);
    const content = readFileSync(file);
    onTestFinished(() => writeFileSync(file, content));
    const path = join(place, "missing.backup");
    writeFileSync(file, "something else");
    await expect(take({ path })).rejects.toThrow("is damaged");
    rmSync(file);
    await expect(take({ path })).rejects.toThrow("--without-missing");
    expect((await take({ path, withoutMissing: true })).files).toMatchObject({ missing: 1 });
    expect(await rowsOf((await restored(path)).db, "artifacts")).toEqual(await rowsOf(db, "artifacts"));
  });

  test("of a database of another version is rejected", async () => {
    const path = join(place, "version.backup");
    const empty = await emptyPlace();
    await expect(take({ path, db: empty.db })).rejects.toThrow("not an Outrider database");
    await copy`insert into migrations (number, name, checksum) values (9001, 'later', '')`;
    await expect(take({ path, db: copy })).rejects.toThrow("newer version");
    await copy`delete from migrations where number = 9001 or number = 12`;
    await expect(take({ path, db: copy })).rejects.toThrow("older version");
  });
});

async function* breakingOff(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    yield chunk;
    throw new Error("the disk is broken");
  }
}

function flip(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
  return copy;
}

/** Returns the file with another manifest and a matching checksum. */
function resigned(bytes: Buffer, change: (json: string) => string): Buffer {
  const length = bytes.readUInt32BE(bytes.length - 36);
  const end = bytes.length - 36 - length;
  const before = bytes.subarray(end, -36).toString();
  const json = Buffer.from(change(before));
  expect(json.toString()).not.toBe(before);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(json.length);
  const content = Buffer.concat([bytes.subarray(0, end), json, size]);
  return Buffer.concat([content, createHash("sha256").update(content).digest()]);
}
