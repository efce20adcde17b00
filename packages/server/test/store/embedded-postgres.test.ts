import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
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
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { accountName, ensureAccount, nobodyAccount } from "../../src/postgres/account.ts";
import { findPackage, prepareBinaries } from "../../src/postgres/binaries.ts";
import { type EmbeddedPostgres, findEmbedded, startEmbedded } from "../../src/postgres/embedded-postgres.ts";
import { acquireLock } from "../../src/postgres/lock.ts";
import { trimLog } from "../../src/postgres/log-file.ts";
import { fromPs, readProcess } from "../../src/postgres/os-processes.ts";
import { sharedRoot } from "../../src/postgres/paths.ts";
import type { PostgresConnection } from "../../src/store/connection/db.ts";

const isRoot = process.getuid?.() === 0;
const account = isRoot ? "as root" : "as an ordinary user";
/** The account that PostgreSQL runs under. */
const own = isRoot ? ensureAccount(tmpdir()) : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const asOwner = isRoot ? own : {};
// Deadlines for a machine that is busy with other things; nothing waits for them to pass.

const logged: { level: number; msg: string; [key: string]: unknown }[] = [];
const log = pino({ level: "info" }, { write: (line) => void logged.push(JSON.parse(line)) });

const folders: string[] = [];
const children: ChildProcess[] = [];
const servers: EmbeddedPostgres[] = [];

function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-pg-")));
  // As root, the data folders are inside it, and the account of PostgreSQL must be able to traverse it.
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
const becomesGone = (pid: number) => vi.waitFor(() => expect(isRunning(pid)).toBe(false), waitOptions);

/** The lock's module as a string literal, for the source text of other processes. */
const lockModule = JSON.stringify(join(import.meta.dirname, "../../src/postgres/lock.ts"));

async function expectUnlocked(dataDir: string): Promise<void> {
  const result = await acquireLock(join(dataDir, "server.lock"));
  expect(result).toHaveProperty("lock");
  if ("lock" in result) result.lock.release();
}

function spawnNode(script: string, prefix: string[] = []): ChildProcess {
  const [program = "", ...args] = [...prefix, process.execPath, "--input-type=module", "-e", script];
  const child = spawn(program, args, {
    cwd: import.meta.dirname,
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  return child;
}

/** Starts a process that starts the database, prints one line about the outcome, and keeps running. */
function spawnServer(dataDir: string, afterwards = "", prefix: string[] = []): ChildProcess {
  const script = `
    import { pino } from "pino";
    import { startEmbedded } from ${JSON.stringify(join(import.meta.dirname, "../../src/postgres/embedded-postgres.ts"))};
    setInterval(() => {}, 1000);
    try {
      await startEmbedded({ dataDir: ${JSON.stringify(dataDir)}, log: pino({ level: "silent" }) });
      console.log("started");
    } catch (error) {
      console.log(error.message);
    }
    ${afterwards}
  `;
  return spawnNode(script, prefix);
}

/** Any process of the account that PostgreSQL runs under. */
function spawnSleep(): ChildProcess {
  const child = spawn("sleep", ["600"], { stdio: "ignore", ...asOwner });
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

/** Only needed after a failed test. */
async function endOrphan(pid: number, cluster: string): Promise<void> {
  if (!readProcess(pid)?.command.includes(cluster)) return;
  process.kill(pid, "SIGINT");
  await becomesGone(pid);
}

describe(`one data folder, ${account}`, () => {
  let dataDir: string;
  beforeAll(() => {
    dataDir = join(makeFolder(), "data");
  });

  test("a fresh start runs PostgreSQL 18 on a Unix socket only, with fsync", async () => {
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
      // Case and trigrams beyond ASCII depend on how the cluster was initialized.
      await sql`create extension pg_trgm`;
      const [row] = await sql`select lower('ПРИВЕТ') as low, cardinality(show_trgm('Привет')) as trigrams`;
      expect(row).toEqual({ low: "привет", trigrams: 7 });
      await sql`create table kept (value text)`;
      await sql`insert into kept values ('from the first start')`;
    });
    expect(await findEmbedded(dataDir)).toEqual(connection);
    expect(tcpListeners(pid)).toEqual([]);
    expect(statSync(join(dataDir, "postgres.password")).mode & 0o777).toBe(0o600);
    expect(ps("uid", pid)).toBe(String(own.uid));
    expect(own.uid).not.toBe(nobodyAccount().uid);
    expect(ps("pgid", pid), "a group of its own, out of reach of Ctrl-C").toBe(String(pid));
    if (process.platform === "linux") {
      expect(readAsOwner("cat", [`/proc/${pid}/environ`])).not.toContain("secret-of-the-environment");
    }

    await Promise.all([stop(), stop()]);
    await stop();
    expect(isRunning(pid)).toBe(false);
    expect(await findEmbedded(dataDir)).toBeUndefined();
    expect(readdirSync(dataDir).sort()).toEqual([
      "postgres",
      "postgres.log",
      "postgres.password",
      "server.lock",
    ]);
  });

  test("a second start keeps the data", async () => {
    const { connection } = await start(dataDir);
    expect(await query(connection, (sql) => sql`select value from kept`)).toEqual([
      { value: "from the first start" },
    ]);
  });

  test("the log contains no statements or values, only messages about the server", async () => {
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

  test("a killed PostgreSQL is restarted, and the pool reconnects", async () => {
    const { connection } = await start(dataDir);
    // The driver's own backoff grows to 20 s.
    const sql = postgres({ ...connection, max: 2, backoff: () => 0.1, onnotice: () => {} });
    try {
      await sql`select 1`;
      const killed = postmasterOf(dataDir);
      process.kill(killed, "SIGKILL");
      await vi.waitFor(() => expect(postmasterOf(dataDir)).not.toBe(killed), waitOptions);
      await vi.waitFor(async () => expect(await sql`select value from kept`).toHaveLength(1), waitOptions);
    } finally {
      await sql.end({ timeout: 5 });
    }
    const report = logged.find(({ msg }) => msg.includes("exited unexpectedly"));
    expect(report).toMatchObject({ level: 50, reason: "SIGKILL" });
    expect(report?.postgresLog).toContain("ready to accept connections");
  });

  test("a stop right after a kill cancels the restart", async () => {
    const { stop } = await start(dataDir);
    const killed = postmasterOf(dataDir);
    process.kill(killed, "SIGKILL");
    const reports = () => logged.filter(({ msg }) => msg.includes("exited unexpectedly")).length;
    const before = reports();
    await vi.waitFor(() => expect(reports()).toBeGreaterThan(before), waitOptions);
    await stop();
    expect(await findEmbedded(dataDir)).toBeUndefined();
    await expectUnlocked(dataDir);
  });

  test("stops the orphan of a killed server and keeps its data", async () => {
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

  test("a server that exits without stop() stops its PostgreSQL", async () => {
    const server = spawnServer(dataDir, `process.stdin.once("data", () => process.exit(0));`);
    expect(await firstLine(server)).toBe("started");
    const pid = postmasterOf(dataDir);
    server.stdin?.write("exit\n");
    await becomesGone(pid);
  });

  test("a zombie postmaster does not block the start", async () => {
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
    await vi.waitFor(() => expect(readFileSync(pidFile, "utf8")).toContain("ready"), waitOptions);
    const zombie = postmasterOf(dataDir);
    process.kill(zombie, "SIGKILL");
    await vi.waitFor(() => expect(ps("stat", zombie)).toMatch(/^Z/), waitOptions);

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
      chownSync(join(cluster, name), own.uid, own.gid);
    }
    expect(await findEmbedded(dataDir)).toBeUndefined();
    const { connection } = await start(dataDir);
    expect(await query(connection, (sql) => sql`select value from kept`)).toHaveLength(1);
  });

  test("does not disturb a server whose process is not visible", async () => {
    const socket = join(dataDir, "postgres", ".s.PGSQL.5432");
    const foreign = createServer().listen(socket);
    await once(foreign, "listening");
    try {
      await expect(start(dataDir)).rejects.toThrow(`Another PostgreSQL server is listening on ${socket}`);
    } finally {
      foreign.close();
    }
  });

  test("rejects a second server while the first runs", async () => {
    const { connection } = await start(dataDir);
    const sentence = `Another Outrider server (pid ${process.pid}) already uses ${dataDir}. Stop it, choose another`;
    await expect(startEmbedded({ dataDir, log })).rejects.toThrow(sentence);
    expect(await firstLine(spawnServer(dataDir))).toContain(sentence);
    expect(await query(connection, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  test("of two servers that find a stale lock at once, one wins", async () => {
    const pid = await deadPid();
    writeFileSync(join(dataDir, "server.lock"), `${pid}\n`);
    const outcomes = await Promise.all([spawnServer(dataDir), spawnServer(dataDir)].map(firstLine));
    expect(outcomes.sort()).toEqual([
      expect.stringMatching(/^Another Outrider server \(pid \d+\)/),
      "started",
    ]);
  });

  test("rejects a cluster of another major version and does not change it", async () => {
    const path = join(dataDir, "postgres", "PG_VERSION");
    writeFileSync(path, "17\n");
    await expect(start(dataDir)).rejects.toThrow(
      "created by PostgreSQL 17, but this version of Outrider runs PostgreSQL 18",
    );
    writeFileSync(path, "18\n");
    await expectUnlocked(dataDir);
  });

  test("a failed start reports PostgreSQL's message", async () => {
    const path = join(dataDir, "postgres", "pg_hba.conf");
    const good = readFileSync(path, "utf8");
    writeFileSync(path, "nonsense\n");
    await expect(start(dataDir)).rejects.toThrow(/could not be started.*could not load .*pg_hba.conf/s);
    writeFileSync(path, good);
    const { connection } = await start(dataDir);
    expect(await query(connection, (sql) => sql`select value from kept`)).toHaveLength(1);
  });
});

describe(`other folders, ${account}`, () => {
  test("repeats an initdb that was killed", async () => {
    const dataDir = join(makeFolder(), "data");
    const server = spawnServer(dataDir);
    const drafts = () => readdirSync(dataDir).filter((name) => name.startsWith("postgres.tmp-"));
    const isHalfWay = () => drafts().some((name) => existsSync(join(dataDir, name, "global")));
    await vi.waitFor(() => expect(isHalfWay()).toBe(true), { ...waitOptions, interval: 2 });
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
    expect({ uid, mode: mode & 0o777 }).toEqual({ uid: own.uid, mode: 0o700 });
    if (isRoot) {
      expect(cluster).toMatch(/^\/var\/lib\/outrider\/[0-9a-f]{16}\/postgres$/);
      expect(logged.find(({ msg }) => msg.includes("using another folder"))).toMatchObject({
        dataDir,
        cluster,
      });
      const copy = join(closed, "copy");
      cpSync(dataDir, copy, { recursive: true, verbatimSymlinks: true });
      unlinkSync(join(copy, "server.lock"));
      await expect(start(copy)).rejects.toThrow("already uses");
      unlinkSync(join(copy, "postgres"));
    }
    expect(await findEmbedded(dataDir)).toEqual(first.connection);
    await first.stop();
    const second = await start(dataDir);
    expect(await query(second.connection, (sql) => sql`select * from kept`)).toEqual([]);
    await second.stop();

    if (isRoot) {
      // The data folder is emptied: the new database is empty, and the old one is kept.
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
      await expect(start(dataDir)).rejects.toThrow("is missing");
    }
  });

  test("a long path puts the socket into a private temporary folder, which is removed at the end", async () => {
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

  test("a short path with a space, a comma and a quote", async () => {
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

    const identity = isRoot ? own : undefined;
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

describe.runIf(isRoot)("the account of a database that root starts", () => {
  /** Returns the owners of everything in a folder. */
  const ownersIn = (folder: string) =>
    new Set(
      [".", ...readdirSync(folder, { recursive: true, encoding: "utf8" })].map(
        (name) => lstatSync(join(folder, name)).uid,
      ),
    );

  test("takes over a database that belongs to nobody, and keeps its data", async () => {
    const dataDir = join(makeFolder(), "data");
    const first = await start(dataDir);
    await query(first.connection, (sql) => sql`create table kept (value text)`);
    await first.stop();
    const cluster = join(dataDir, "postgres");
    const nobody = nobodyAccount();
    execFileSync("chown", ["-R", `${nobody.uid}:${nobody.gid}`, cluster]);
    const second = await start(dataDir);
    expect(await query(second.connection, (sql) => sql`select * from kept`)).toEqual([]);
    expect(ps("uid", postmasterOf(dataDir))).toBe(String(own.uid));
    expect(ownersIn(cluster)).toEqual(new Set([own.uid]));
  });

  test("continues a takeover that was interrupted", async () => {
    const dataDir = join(makeFolder(), "data");
    await (await start(dataDir)).stop();
    const cluster = join(dataDir, "postgres");
    execFileSync("chown", ["-R", `${nobodyAccount().uid}`, join(cluster, "base")]);
    chownSync(cluster, 0, 0);
    await start(dataDir);
    expect(ownersIn(cluster)).toEqual(new Set([own.uid]));
  });

  test("is a uid that depends on the data folder if no account can be created", async () => {
    const folder = makeFolder();
    const dataDir = join(folder, "data");
    const passwd = readFileSync("/etc/passwd", "utf8").split("\n");
    writeFileSync(join(folder, "passwd"), passwd.filter((line) => !line.startsWith(accountName)).join("\n"));
    // Hides the account and the program that creates it, in a private mount namespace.
    const script = 'mount --bind "$1" /etc/passwd && mount --bind /dev/null "$2" && shift 2 && exec "$@"';
    const hidden = [join(folder, "passwd"), "/usr/sbin/useradd"];
    const startOnce = async () => {
      const server = spawnServer(dataDir, "", ["unshare", "--mount", "sh", "-c", script, "sh", ...hidden]);
      expect(await firstLine(server)).toBe("started");
      const uid = ps("uid", postmasterOf(dataDir));
      const postmaster = postmasterOf(dataDir);
      await kill(server);
      process.kill(postmaster, "SIGINT");
      await becomesGone(postmaster);
      return Number(uid);
    };
    const uid = await startOnce();
    expect(uid).toBeGreaterThanOrEqual(58_400);
    expect(uid).toBeLessThan(59_900);
    expect(ownersIn(join(dataDir, "postgres"))).toEqual(new Set([uid]));
    expect(await startOnce()).toBe(uid);
  });
});

describe("parts", () => {
  test("exactly one of many processes takes over a stale lock", async () => {
    const path = join(makeFolder(), "server.lock");
    writeFileSync(path, `${await deadPid()}\n`);
    const contenders = Array.from({ length: 5 }, () =>
      spawnNode(`
        import { acquireLock } from ${lockModule};
        process.stdin.on("data", async () => console.log("lock" in (await acquireLock(${JSON.stringify(path)}))));
        console.log("waiting");
      `),
    );
    expect(await Promise.all(contenders.map(firstLine))).toEqual(Array(5).fill("waiting"));
    const outcomes = contenders.map(firstLine);
    for (const { stdin } of contenders) stdin?.write("go\n");
    expect((await Promise.all(outcomes)).sort()).toEqual(["false", "false", "false", "false", "true"]);
  });

  test("a lock whose owner is a zombie is free, and names its owner until then", async () => {
    const path = join(makeFolder(), "server.lock");
    const script = join(makeFolder(), "owner.ts");
    writeFileSync(
      script,
      `import { acquireLock } from ${lockModule};
      console.log("lock" in (await acquireLock(${JSON.stringify(path)})) ? process.pid : "refused");
      setInterval(() => {}, 1000);`,
    );
    const parent = spawn("/bin/sh", ["-c", `"$0" "$1" & exec sleep 600`, process.execPath, script], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    children.push(parent);
    const pid = Number(await firstLine(parent));
    expect(await acquireLock(path)).toEqual({ ownerPid: String(pid) });
    // The shell would reap it; what it becomes does not.
    await vi.waitFor(() => expect(ps("comm", parent.pid as number)).toMatch(/^sleep/), waitOptions);
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(ps("stat", pid)).toMatch(/^Z/), waitOptions);
    // The first thread can be a zombie while others still exit. The lock is released after the last one.
    await vi.waitFor(async () => expect(await acquireLock(path)).toHaveProperty("lock"), waitOptions);
  });

  test("a lock excludes other tasks of the same process until it is released", async () => {
    const path = join(makeFolder(), "server.lock");
    const first = await acquireLock(path);
    expect(await acquireLock(path)).toEqual({ ownerPid: String(process.pid) });
    if ("lock" in first) first.lock.release();
    expect(await acquireLock(path)).toHaveProperty("lock");
  });

  test("ps, for systems without /proc, returns the same", async () => {
    const [self] = fromPs(["-p", String(process.pid)]);
    expect(self).toMatchObject({ pid: process.pid, command: readProcess(process.pid)?.command });
    expect(fromPs(["-p", String(await deadPid())])).toEqual([]);
  });

  test("trims a log that has grown too large", () => {
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
  return execFileSync(program, args, { encoding: "utf8", ...asOwner });
}
