import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pino } from "pino";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { PostgresConnection } from "../src/store/db.ts";
import { findPackage, prepareBinaries } from "../src/store/embedded/binaries.ts";
import { acquireLock } from "../src/store/embedded/lock.ts";
import { trimLog } from "../src/store/embedded/log-file.ts";
import { sharedRoot } from "../src/store/embedded/place.ts";
import { fromPs, readProcess } from "../src/store/embedded/processes.ts";
import { type EmbeddedPostgres, findEmbedded, startEmbedded } from "../src/store/embedded.ts";

const isRoot = process.getuid?.() === 0;
const account = isRoot ? "as root" : "as an ordinary user";
// Deadlines for a machine that is busy with other things; nothing waits for them to pass.
const patience = { timeout: 60_000, interval: 20 };

const logged: { level: number; msg: string; [key: string]: unknown }[] = [];
const log = pino({ level: "info" }, { write: (line) => void logged.push(JSON.parse(line)) });

const folders: string[] = [];
const children: ChildProcess[] = [];
const servers: EmbeddedPostgres[] = [];

function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-pg-")));
  // The data folders of root lie below it, and PostgreSQL's account has to pass.
  if (isRoot) chmodSync(folder, 0o711);
  folders.push(folder);
  return folder;
}

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await startEmbedded({ dataDir, log });
  servers.push(server);
  return server;
}

async function query<T>(connection: PostgresConnection, run: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres({ ...connection, max: 1, onnotice: () => {} });
  try {
    return await run(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function postmasterOf(dataDir: string): number {
  return Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
}

function ps(field: string, pid: number): string {
  try {
    return execFileSync("ps", ["-o", `${field}=`, "-p", String(pid)], { encoding: "utf8" }).trim();
  } catch {
    return ""; // no such process
  }
}

const isRunning = (pid: number) => readProcess(pid) !== undefined;
const becomesGone = (pid: number) => vi.waitFor(() => expect(isRunning(pid)).toBe(false), patience);

function spawnNode(script: string): ChildProcess {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: import.meta.dirname,
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  return child;
}

/** A process of its own that starts the database, prints one line about the outcome, and stays. */
function spawnServer(dataDir: string, afterwards = ""): ChildProcess {
  return spawnNode(`
    import { pino } from "pino";
    import { startEmbedded } from ${JSON.stringify(join(import.meta.dirname, "../src/store/embedded.ts"))};
    setInterval(() => {}, 1000);
    try {
      await startEmbedded({ dataDir: ${JSON.stringify(dataDir)}, log: pino({ level: "silent" }) });
      console.log("started");
    } catch (error) {
      console.log(error.message);
    }
    ${afterwards}
  `);
}

/** Any process of the account that PostgreSQL runs under. */
function spawnSleep(): ChildProcess {
  const child = spawn("sleep", ["600"], { stdio: "ignore", ...(isRoot ? { uid: 65534, gid: 65534 } : {}) });
  children.push(child);
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error("no output");
  const [line] = await once(createInterface(child.stdout), "line");
  return line;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  for (const child of children.splice(0)) await kill(child);
});

afterAll(async () => {
  for (const folder of folders) await removeFolder(folder);
});

async function removeFolder(folder: string): Promise<void> {
  for (const dataDir of [folder, ...readdirSync(folder).map((name) => join(folder, name))]) {
    const cluster = join(dataDir, "postgres");
    if (existsSync(join(cluster, "postmaster.pid")))
      await endOrphan(postmasterOf(dataDir), realpathSync(cluster));
  }
  rmSync(folder, { recursive: true, force: true });
}

/** What root's data folder has below /var/lib when PostgreSQL's account cannot reach the folder itself. */
async function removeSharedHome(dataDir: string): Promise<void> {
  for (const server of servers.splice(0)) await server.stop();
  if (!existsSync(sharedRoot)) return;
  const name = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  rmSync(join(sharedRoot, name), { recursive: true, force: true });
  if (readdirSync(sharedRoot).length === 0) rmdirSync(sharedRoot);
}

/** Only after a test has failed half-way. */
async function endOrphan(pid: number, cluster: string): Promise<void> {
  if (!readProcess(pid)?.command.includes(cluster)) return;
  process.kill(pid, "SIGINT");
  await becomesGone(pid);
}

describe(`one data folder, ${account}`, { timeout: 120_000 }, () => {
  let dataDir: string;
  beforeAll(() => {
    dataDir = join(makeFolder(), "data");
  });

  test("a fresh start gives PostgreSQL 18 on a unix socket alone, with fsync", async () => {
    process.env.OUTRIDER_TEST_SECRET = "secret-of-the-environment";
    const { connection, stop } = await start(dataDir);
    const pid = postmasterOf(dataDir);
    await query(connection, async (sql) => {
      expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
      const names = ["server_version_num", "fsync", "listen_addresses", "jit", "TimeZone", "server_encoding"];
      const rows = await sql`select name, setting from pg_settings where name in ${sql(names)}`;
      const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
      expect(settings).toMatchObject({ fsync: "on", listen_addresses: "", jit: "off", TimeZone: "UTC" });
      expect(settings.server_encoding).toBe("UTF8");
      expect(Math.floor(Number(settings.server_version_num) / 10_000)).toBe(18);
      // Case and trigrams beyond ASCII depend on how the cluster was initialised.
      await sql`create extension pg_trgm`;
      const [row] = await sql`select lower('ПРИВЕТ') as low, cardinality(show_trgm('Привет')) as trigrams`;
      expect(row).toEqual({ low: "привет", trigrams: 7 });
      await sql`create table kept (value text)`;
      await sql`insert into kept values ('from the first start')`;
    });
    expect(await findEmbedded(dataDir)).toEqual(connection);
    expect(tcpListeners(pid)).toEqual([]);
    expect(statSync(join(dataDir, "postgres.password")).mode & 0o777).toBe(0o600);
    expect(ps("uid", pid)).toBe(String(isRoot ? 65534 : process.getuid?.()));
    expect(ps("pgid", pid), "a group of its own, out of reach of Ctrl-C").toBe(String(pid));
    if (process.platform === "linux") {
      expect(readAsOwner("cat", [`/proc/${pid}/environ`])).not.toContain("secret-of-the-environment");
    }

    await Promise.all([stop(), stop()]);
    await stop();
    expect(isRunning(pid)).toBe(false);
    expect(await findEmbedded(dataDir)).toBeUndefined();
    expect(readdirSync(dataDir).sort()).toEqual(["postgres", "postgres.log", "postgres.password"]);
  });

  test("a second start keeps the data", async () => {
    const { connection } = await start(dataDir);
    expect(await query(connection, (sql) => sql`select value from kept`)).toEqual([
      { value: "from the first start" },
    ]);
  });

  test("the log holds no statement and no value, only what the server says about itself", async () => {
    const { connection } = await start(dataDir);
    await query(connection, async (sql) => {
      await sql`create table guarded (value text check (length(value) < 5))`;
      await expect(sql`insert into guarded values (${"marker-value"})`).rejects.toThrow("violates check");
      await expect(sql`select ${"marker-value"}::text::int`).rejects.toThrow("marker-value");
      await expect(sql.unsafe("select marker_column from nowhere")).rejects.toThrow("nowhere");
    });
    const text = readFileSync(join(dataDir, "postgres.log"), "utf8");
    expect(text).toContain("ready to accept connections");
    expect(text).not.toMatch(/marker|guarded|nowhere/);
  });

  test("a PostgreSQL killed while owned comes back, and the pool finds it again", async () => {
    const { connection } = await start(dataDir);
    // Its own pauses grow to 20 s.
    const sql = postgres({ ...connection, max: 2, backoff: () => 0.1, onnotice: () => {} });
    try {
      await sql`select 1`;
      const killed = postmasterOf(dataDir);
      process.kill(killed, "SIGKILL");
      await vi.waitFor(() => expect(postmasterOf(dataDir)).not.toBe(killed), patience);
      await vi.waitFor(async () => expect(await sql`select value from kept`).toHaveLength(1), patience);
    } finally {
      await sql.end({ timeout: 5 });
    }
    const report = logged.find(({ msg }) => msg.includes("ended unexpectedly"));
    expect(report).toMatchObject({ level: 50, reason: "SIGKILL" });
    expect(report?.postgresLog).toContain("ready to accept connections");
  });

  test("a stop right after a kill ends the restart too", async () => {
    const { stop } = await start(dataDir);
    const killed = postmasterOf(dataDir);
    process.kill(killed, "SIGKILL");
    const reports = () => logged.filter(({ msg }) => msg.includes("ended unexpectedly")).length;
    const before = reports();
    await vi.waitFor(() => expect(reports()).toBeGreaterThan(before), patience);
    await stop();
    expect(await findEmbedded(dataDir)).toBeUndefined();
    expect(existsSync(join(dataDir, "server.lock"))).toBe(false);
  });

  test("an orphan that a killed server left is stopped, and its data is there", async () => {
    const server = spawnServer(dataDir);
    expect(await firstLine(server)).toBe("started");
    const orphan = postmasterOf(dataDir);
    await kill(server);
    expect(isRunning(orphan)).toBe(true);
    const { connection } = await start(dataDir);
    expect(isRunning(orphan)).toBe(false);
    expect(await query(connection, (sql) => sql`select value from kept`)).toHaveLength(1);
  });

  test("server and postmaster killed at once", async () => {
    const server = spawnServer(dataDir);
    expect(await firstLine(server)).toBe("started");
    process.kill(postmasterOf(dataDir), "SIGKILL");
    await kill(server);
    const { connection } = await start(dataDir);
    expect(await query(connection, (sql) => sql`select value from kept`)).toHaveLength(1);
  });

  test("a server that ends without stop() takes its PostgreSQL with it", async () => {
    const server = spawnServer(dataDir, `process.stdin.once("data", () => process.exit(0));`);
    expect(await firstLine(server)).toBe("started");
    const pid = postmasterOf(dataDir);
    server.stdin?.write("exit\n");
    await becomesGone(pid);
  });

  test("a dead postmaster whose parent never reaps it does not stand in the way", async () => {
    const { uid, gid } = statSync(join(dataDir, "postgres"));
    const cluster = realpathSync(join(dataDir, "postgres"));
    const program = join(findPackage().root, "native", "bin", "postgres");
    // exec replaces the shell by a program that knows nothing of the child it inherits.
    const args = ["-D", cluster, "-c", "listen_addresses=", "-c", `unix_socket_directories=${cluster}`];
    const parent = spawn("/bin/sh", ["-c", '"$@" & exec sleep 600', "sh", program, ...args], {
      stdio: "ignore",
      cwd: "/",
      ...(isRoot ? { uid, gid } : {}),
    });
    children.push(parent);
    const pidFile = join(cluster, "postmaster.pid");
    await vi.waitFor(() => expect(readFileSync(pidFile, "utf8")).toContain("ready"), patience);
    const zombie = postmasterOf(dataDir);
    process.kill(zombie, "SIGKILL");
    await vi.waitFor(() => expect(ps("stat", zombie)).toMatch(/^Z/), patience);

    const { connection } = await start(dataDir);
    expect(ps("stat", zombie)).toMatch(/^Z/);
    expect(await query(connection, (sql) => sql`select value from kept`)).toHaveLength(1);
  });

  const stalePids: [string, () => number | string][] = [
    ["our own pid", () => process.pid],
    ["an unrelated process of the same account", () => spawnSleep().pid ?? 0],
    ["no pid at all", () => "garbage"],
    ["a free pid", () => 2 ** 22 - 1],
  ];
  test.for(stalePids)("stale lock files that name %s", async ([, choosePid]) => {
    const cluster = join(dataDir, "postgres");
    const content = `${choosePid()}\n${cluster}\n1700000000\n5432\n${cluster}\n\n  123 456\nready\n`;
    for (const name of ["postmaster.pid", ".s.PGSQL.5432.lock"]) {
      writeFileSync(join(cluster, name), content, { mode: 0o600 });
      if (isRoot) chownSync(join(cluster, name), 65534, 65534);
    }
    expect(await findEmbedded(dataDir)).toBeUndefined();
    const { connection } = await start(dataDir);
    expect(await query(connection, (sql) => sql`select value from kept`)).toHaveLength(1);
  });

  test("a server that answers without a visible process is not disturbed", async () => {
    const socket = join(dataDir, "postgres", ".s.PGSQL.5432");
    const foreign = createServer().listen(socket);
    await once(foreign, "listening");
    try {
      await expect(start(dataDir)).rejects.toThrow(`Another PostgreSQL answers on ${socket}`);
    } finally {
      foreign.close();
    }
  });

  test("a second server is refused while the first lives, and leaves it alone", async () => {
    const { connection } = await start(dataDir);
    const sentence = `Another Outrider (pid ${process.pid}) already runs on ${dataDir}: stop it, choose another`;
    await expect(startEmbedded({ dataDir, log })).rejects.toThrow(sentence);
    expect(await firstLine(spawnServer(dataDir))).toContain(sentence);
    expect(await query(connection, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  test("of two servers that start at once over a stale lock, one wins", async () => {
    const pid = await deadPid();
    writeFileSync(join(dataDir, "server.lock"), `${JSON.stringify({ pid, start: "long ago" })}\n`);
    const outcomes = await Promise.all([spawnServer(dataDir), spawnServer(dataDir)].map(firstLine));
    expect(outcomes.sort()).toEqual([expect.stringMatching(/^Another Outrider \(pid \d+\)/), "started"]);
  });

  test("a cluster of another major version is refused and untouched", async () => {
    const path = join(dataDir, "postgres", "PG_VERSION");
    writeFileSync(path, "17\n");
    await expect(start(dataDir)).rejects.toThrow(
      "made by PostgreSQL 17, but this Outrider runs PostgreSQL 18",
    );
    writeFileSync(path, "18\n");
    expect(existsSync(join(dataDir, "server.lock"))).toBe(false);
  });

  test("a start that fails says what PostgreSQL said", async () => {
    const path = join(dataDir, "postgres", "pg_hba.conf");
    const good = readFileSync(path, "utf8");
    writeFileSync(path, "nonsense\n");
    await expect(start(dataDir)).rejects.toThrow(/could not be started.*could not load .*pg_hba.conf/s);
    writeFileSync(path, good);
    const { connection } = await start(dataDir);
    expect(await query(connection, (sql) => sql`select value from kept`)).toHaveLength(1);
  });
});

describe(`other folders, ${account}`, { timeout: 120_000 }, () => {
  test("an initdb that was killed half-way is done again", async () => {
    const dataDir = join(makeFolder(), "data");
    const server = spawnServer(dataDir);
    const drafts = () => readdirSync(dataDir).filter((name) => name.startsWith("postgres.tmp-"));
    const isHalfWay = () => drafts().some((name) => existsSync(join(dataDir, name, "global")));
    await vi.waitFor(() => expect(isHalfWay()).toBe(true), { ...patience, interval: 2 });
    await kill(server);
    expect(existsSync(join(dataDir, "postgres"))).toBe(false);
    expect(drafts()).not.toEqual([]);
    const { connection } = await start(dataDir);
    expect(await query(connection, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    expect(drafts()).toEqual([]);
  });

  test(`${isRoot ? "a folder that PostgreSQL's account cannot reach" : "a private folder"} with a long name`, async () => {
    const closed = makeFolder();
    chmodSync(closed, 0o700);
    const dataDir = join(closed, "a".repeat(60), "b".repeat(60));
    mkdirSync(dirname(dataDir));
    onTestFinished(() => removeSharedHome(dataDir));
    const first = await start(dataDir);
    await query(first.connection, (sql) => sql`create table kept (value text)`);
    const cluster = realpathSync(join(dataDir, "postgres"));
    const { uid, mode } = statSync(cluster);
    expect({ uid, mode: mode & 0o777 }).toEqual({ uid: isRoot ? 65534 : process.getuid?.(), mode: 0o700 });
    if (isRoot) {
      expect(cluster).toMatch(/^\/var\/lib\/outrider\/[0-9a-f]{16}\/postgres$/);
      expect(logged.find(({ msg }) => msg.includes("goes elsewhere"))).toMatchObject({ dataDir, cluster });
      const copy = join(closed, "copy");
      cpSync(dataDir, copy, { recursive: true, verbatimSymlinks: true });
      unlinkSync(join(copy, "server.lock"));
      await expect(start(copy)).rejects.toThrow("already runs");
      unlinkSync(join(copy, "postgres"));
    }
    expect(await findEmbedded(dataDir)).toEqual(first.connection);
    await first.stop();
    const second = await start(dataDir);
    expect(await query(second.connection, (sql) => sql`select * from kept`)).toEqual([]);
    await second.stop();

    if (isRoot) {
      // Somebody empties the data folder: the new database is empty, the old one is kept.
      rmSync(dataDir, { recursive: true });
      const third = await start(dataDir);
      await expect(query(third.connection, (sql) => sql`select * from kept`)).rejects.toThrow(
        "does not exist",
      );
      expect(
        readdirSync(dirname(cluster)).filter((name) => name.startsWith("postgres.unlinked-")),
      ).toHaveLength(1);
      await third.stop();
      rmSync(cluster, { recursive: true });
      await expect(start(dataDir)).rejects.toThrow("is gone");
    }
  });

  test("a long name alone: the socket goes to a private temporary folder, and away at the end", async () => {
    const parent = join(makeFolder(), "c".repeat(100));
    mkdirSync(parent);
    const dataDir = join(parent, "with a space, a comma");
    const { connection, stop } = await start(dataDir);
    expect(connection.host).toMatch(/\/outrider-[0-9a-f]{16}$/);
    expect(statSync(connection.host).mode & 0o777).toBe(0o700);
    expect(await query(connection, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    expect(await findEmbedded(dataDir)).toEqual(connection);
    await stop();
    expect(existsSync(connection.host)).toBe(false);
  });

  test("a short name with a space, a comma and a quote", async () => {
    const dataDir = join(makeFolder(), `a, "b"`);
    const { connection } = await start(dataDir);
    expect(connection.host).toBe(join(dataDir, "postgres"));
    expect(await query(connection, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  test(`binaries without links, ${isRoot ? "out of reach: copied" : "in a read-only folder: copied"}`, async () => {
    const { root, version } = findPackage();
    const folder = makeFolder();
    const from = { root: join(folder, "package"), version };
    mkdirSync(from.root);
    cpSync(join(root, "native"), join(from.root, "native"), { recursive: true, verbatimSymlinks: true });
    const list = JSON.parse(readFileSync(join(root, "native", "pg-symlinks.json"), "utf8"));
    for (const { target } of list) unlinkSync(join(from.root, target));
    // Root is not bound by a read-only mode; the other account is by a closed folder.
    const closed = isRoot ? from.root : join(from.root, "native", "lib");
    const open = () => chmodSync(closed, 0o755);
    chmodSync(closed, isRoot ? 0o700 : 0o500);
    onTestFinished(open);

    const identity = isRoot ? { uid: 65534, gid: 65534 } : undefined;
    const copied = await prepareBinaries({ identity, copyTo: join(folder, "copies"), log, from });
    expect(copied.postgres).toBe(
      join(folder, "copies", `postgresql-${version}`, "native", "bin", "postgres"),
    );
    const { ino } = statSync(copied.postgres);
    expect(await prepareBinaries({ identity, copyTo: join(folder, "copies"), log, from })).toEqual(copied);
    expect(statSync(copied.postgres).ino, "copied once").toBe(ino);

    open();
    const repaired = await prepareBinaries({ identity, copyTo: join(folder, "unused"), log, from });
    expect(repaired.postgres).toBe(join(from.root, "native", "bin", "postgres"));
    expect(existsSync(join(folder, "unused"))).toBe(false);
  });
});

describe("parts", { timeout: 120_000 }, () => {
  test("of many processes that find a stale lock at once, exactly one gets it", async () => {
    const path = join(makeFolder(), "server.lock");
    const stale = `${JSON.stringify({ pid: await deadPid(), start: "long ago" })}\n`;
    writeFileSync(path, stale);
    writeFileSync(`${path}.takeover`, stale); // somebody died during a takeover, too
    const contenders = Array.from({ length: 5 }, () =>
      spawnNode(`
        import { acquireLock } from ${JSON.stringify(join(import.meta.dirname, "../src/store/embedded/lock.ts"))};
        process.stdin.on("data", async () => console.log("lock" in (await acquireLock(${JSON.stringify(path)}))));
        console.log("waiting");
      `),
    );
    expect(await Promise.all(contenders.map(firstLine))).toEqual(Array(5).fill("waiting"));
    const outcomes = contenders.map(firstLine);
    for (const { stdin } of contenders) stdin?.write("go\n");
    expect((await Promise.all(outcomes)).sort()).toEqual(["false", "false", "false", "false", "true"]);
  });

  test("a lock whose owner is a zombie is free", async () => {
    const path = join(makeFolder(), "server.lock");
    const parent = spawn("/bin/sh", ["-c", "sleep 600 & echo $!; exec sleep 600"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    children.push(parent);
    const pid = Number(await firstLine(parent));
    writeFileSync(path, JSON.stringify({ pid, start: readProcess(pid)?.start }));
    expect(await acquireLock(path)).toMatchObject({ owner: { pid } });
    // The shell would reap it; what it becomes does not.
    await vi.waitFor(() => expect(ps("comm", parent.pid as number)).toMatch(/^sleep/), patience);
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(ps("stat", pid)).toMatch(/^Z/), patience);
    expect(await acquireLock(path)).toHaveProperty("lock");
  });

  test("ps, for systems without /proc, tells the same", async () => {
    const [self] = fromPs(["-p", String(process.pid)]);
    expect(self).toMatchObject({ pid: process.pid, command: readProcess(process.pid)?.command });
    expect(fromPs(["-p", String(await deadPid())])).toEqual([]);
  });

  test("the log is cut to its end when it has grown too large", () => {
    const path = join(makeFolder(), "postgres.log");
    writeFileSync(path, "");
    truncateSync(path, 11 * 1024 * 1024);
    writeFileSync(path, "the last line\n", { flag: "a" });
    trimLog(path);
    expect(statSync(path).size).toBe(1024 * 1024);
    expect(readFileSync(path, "utf8").endsWith("the last line\n")).toBe(true);
  });
});

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await once(child, "exit");
  return child.pid ?? 0;
}

function tcpListeners(pid: number): string[] {
  if (process.platform !== "linux") return [];
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].filter((path) => existsSync(path));
  const lines = tables.flatMap((path) => readFileSync(path, "utf8").trim().split("\n").slice(1));
  const inodes = lines.map((line) => line.trim().split(/\s+/)[9]);
  const open = readAsOwner("ls", ["-l", `/proc/${pid}/fd`]).split("\n");
  return open.filter((line) => inodes.some((inode) => line.endsWith(`socket:[${inode}]`)));
}

/** Not even root may look into another account's process where it lacks CAP_SYS_PTRACE. */
function readAsOwner(program: string, args: string[]): string {
  return execFileSync(program, args, { encoding: "utf8", ...(isRoot ? { uid: 65534, gid: 65534 } : {}) });
}
