import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../packages/server/test/server.ts";
import { outrider, root } from "./process.ts";

const run = promisify(execFile);

test("doctor opens a sandbox and says of each control whether it holds here", async () => {
  const { code, stdout } = await outrider(["doctor", "--json"]);
  const { findings } = JSON.parse(stdout) as { findings: { name: string; state: string; says: string }[] };
  expect(code).toBe(0);
  expect(findings).toContainEqual({ name: "sandbox", says: "a command runs in one", state: "ok" });
  for (const name of ["memory", "cpus", "pids", "disk", "network", "seccomp"]) {
    expect(findings.find((one) => one.name === name)?.says).toMatch(/^(enforced by|not enforced:) \S+/);
  }
  expect((await outrider(["doctor"])).stdout).toContain("ok  sandbox     a command runs in one\n");
});

test("doctor says what to set where there can be no sandbox, and ends with 1", async () => {
  const forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
  const command = ["sh", "-c", forbid, "sh", join(root, "bin/outrider"), "doctor"];
  const end = await run("unshare", ["--user", "--map-root-user", ...command]).catch((error) => error);
  expect(end.code).toBe(1);
  // Here root has no other uid to give to sandboxes; where it had, the namespaces would be what is missing.
  expect(end.stdout).toMatch(/!! {2}sandbox .*(start it as an ordinary user|user\.max_user_namespaces)/);
});

interface Finding {
  name: string;
  state: string;
  says: string;
  remedy?: string;
}

describe("doctor, where a server has its data", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await testServer();
  });
  afterAll(() => server.stop());

  async function doctor(own: Record<string, string> = {}, args: string[] = ["--for", "server"]) {
    const environment = { DATABASE_URL: server.databaseUrl, OUTRIDER_DATA_DIR: server.dataDir, ...own };
    const { code, stdout } = await outrider(["doctor", "--json", ...args], environment);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const find = (name: string) => findings.find((one) => one.name === name) as Finding;
    return { code, findings, find };
  }

  test("says of database, migrations, master key, disk and queue that they are well", async () => {
    const { code, findings, find } = await doctor();
    expect(code).toBe(0);
    expect(find("database").says).toMatch(/^PostgreSQL \d+.* answers in [\d.]+ ms$/);
    for (const name of ["migrations", "clock", "master key", "queue", "leases", "brake"])
      expect(find(name)).toMatchObject({ name, state: "ok" });
    expect(find("disk").says).toMatch(/GiB free/);
    for (const { state, remedy } of findings) expect(Boolean(remedy)).toBe(state !== "ok");
    expect(find("workers")).toMatchObject({
      state: "warn",
      remedy: expect.stringContaining("outrider worker"),
    });
  });

  test("fails with the remedy where the master key is another, or a migration is missing", async () => {
    const other = await doctor({ OUTRIDER_MASTER_KEY: randomBytes(32).toString("base64") });
    expect(other.code).toBe(1);
    expect(other.find("master key")).toMatchObject({ state: "fail" });
    const [last] = await server.db`delete from migrations where number = 14 returning *`;
    await server.db`insert into migrations (number, name, checksum) values (9999, '9999_next.sql', 'x')`;
    const lacking = await doctor();
    expect(lacking.find("migrations")).toMatchObject({
      state: "fail",
      says: expect.stringContaining("0014_brake"),
    });
    await server.db`insert into migrations ${server.db(last as never)}`;
    expect((await doctor()).find("migrations")).toMatchObject({
      state: "warn",
      says: expect.stringContaining("9999_next.sql"),
    });
    await server.db`delete from migrations where number = 9999`;
  });

  test("says that the brake is on, and that a disk is too full for new runs", async () => {
    await server.call("PUT", "/installation/brake", { body: { intake: "paused" } });
    const { code, find } = await doctor({ OUTRIDER_MIN_FREE_MB: "99999999" });
    expect(find("brake")).toMatchObject({ state: "warn" });
    expect(find("disk")).toMatchObject({ state: "fail" });
    expect(code).toBe(1);
    await server.call("PUT", "/installation/brake", { body: {} });
  });

  test("says that the database cannot be reached, and nothing of its password", async () => {
    const { code, findings, find } = await doctor({ DATABASE_URL: "postgres://u:hidden@127.0.0.1:1/x" });
    expect(code).toBe(1);
    expect(find("database").state).toBe("fail");
    expect(JSON.stringify(findings)).not.toContain("hidden");
  });

  test("on a worker's machine, asks the server and for its key", async () => {
    const key = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
    const at = { OUTRIDER_SERVER: server.origin, OUTRIDER_WORKER_KEY: key };
    const well = await doctor(at, ["--for", "worker"]);
    expect(well.find("server").state).toBe("ok");
    expect(well.find("clock").state).toBe("ok");
    expect(well.find("worker key").state).toBe("ok");
    expect(well.find("database")).toBeUndefined();
    const stale = await doctor({ ...at, OUTRIDER_WORKER_KEY: `${key.slice(0, -1)}!` }, ["--for", "worker"]);
    expect(stale.code).toBe(1);
    expect(stale.find("worker key").state).toBe("fail");
    const lost = await doctor({ OUTRIDER_SERVER: "http://127.0.0.1:1" }, ["--for", "worker"]);
    expect(lost.find("server")).toMatchObject({
      state: "fail",
      remedy: expect.stringContaining("OUTRIDER_SERVER"),
    });
  });
});
