import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Row } from "postgres";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startGitHubStub } from "../packages/server/test/forges/github-stub.ts";
import { type TestServer, testServer } from "../packages/server/test/server.ts";
import { openEngine } from "../packages/worker/src/sandboxes/docker/engine/connect.ts";
import { canRunEngines, startDocker } from "../packages/worker/test/docker/test-engine.ts";
import { outrider, root } from "./process.ts";

const run = promisify(execFile);

test("doctor starts a sandbox and reports which controls are enforced", async () => {
  const { code, stdout } = await outrider(["doctor", "--json"]);
  const { findings } = JSON.parse(stdout) as { findings: { name: string; state: string; message: string }[] };
  expect(code).toBe(0);
  expect(findings).toContainEqual({ name: "sandbox", message: "works: local", state: "ok" });
  for (const name of ["memory", "cpus", "pids", "disk", "network", "seccomp"]) {
    expect(findings.find((finding) => finding.name === name)?.message).toMatch(
      /^(enforced by|not enforced:) \S+/,
    );
  }
  expect((await outrider(["doctor"])).stdout).toContain("ok  sandbox     works: local\n");
});

test("doctor reports the other kind of sandboxes, which does not have to work", async () => {
  const environment = { OUTRIDER_DOCKER_HOST: "unix:///nowhere/docker.sock" };
  const { code, stdout } = await outrider(["doctor", "--json", "--for", "worker"], environment);
  expect(code).toBe(0);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  expect(findings.find(({ name }) => name === "docker")).toEqual({
    ...{ name: "docker", state: "ok" },
    message: expect.stringMatching(/^not available, and not used by these settings\. \S.+\.$/),
  });
});

test("doctor fails if the kind of sandboxes that the settings name does not work", async () => {
  const doctor = async (OUTRIDER_SANDBOX: string) => {
    const environment = { OUTRIDER_SANDBOX, OUTRIDER_DOCKER_HOST: "unix:///nowhere/docker.sock" };
    const { code, stdout } = await outrider(["doctor", "--json", "--for", "worker"], environment);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    return { code, find: (name: string) => findings.find((finding) => finding.name === name) };
  };
  const docker = await doctor("docker");
  expect(docker.code).toBe(1);
  expect(docker.find("sandbox")).toMatchObject({ state: "fail", remedy: expect.stringMatching(/\S/) });
  expect(docker.find("local")?.message).toMatch(/^works\. Enforces .*network/);
  const other = await doctor("nomad");
  expect(other.code).toBe(1);
  expect(other.find("sandbox")?.remedy).toContain(
    "OUTRIDER_SANDBOX must be auto, local, docker or kubernetes",
  );
});

test.skipIf(!canRunEngines)(
  "doctor says what an engine is and enforces, and leaves nothing in it",
  async () => {
    // No other test changes what it has.
    const engine = await startDocker();
    onTestFinished(() => engine.stop());
    const { docker } = await openEngine({ host: engine.host });
    const countObjects = async () => {
      const [containers, { Volumes: volumes }, images] = await Promise.all([
        docker.listContainers({ all: true }),
        docker.listVolumes(),
        docker.listImages({ all: true }),
      ]);
      return [containers.length, volumes?.length ?? 0, images.length];
    };
    expect(await countObjects()).toEqual([0, 0, 0]);
    const doctor = async (environment: Record<string, string>) => {
      const variables = { OUTRIDER_DOCKER_HOST: engine.host, ...environment };
      const { code, stdout } = await outrider(["doctor", "--json", "--for", "worker"], variables);
      expect(code).toBe(0);
      const { findings } = JSON.parse(stdout) as { findings: Finding[] };
      return (name: string) => findings.find((finding) => finding.name === name);
    };
    const used = await doctor({ OUTRIDER_SANDBOX: "docker" });
    expect(await countObjects()).toEqual([0, 0, 0]);
    expect(used("sandbox")?.message).toMatch(/^works: docker \(docker \S+, runtime runc\)$/);
    for (const name of ["memory", "cpus", "pids"])
      expect(used(name)?.message).toMatch(/^enforced by cgroup v\d, Docker \d+/);
    expect(used("network")).toMatchObject({ state: "ok", message: "enforced by a network namespace" });
    expect(used("disk")).toMatchObject({ state: "warn", message: expect.stringContaining("pquota") });
    expect(used("dockerfiles")).toMatchObject({
      ...{ state: "ok", message: expect.stringContaining("BuildKit is faster and available") },
    });
    const unused = await doctor({ OUTRIDER_SANDBOX: "local", OUTRIDER_DOCKER_BUILDER: "buildkit" });
    expect(unused("docker")?.message).toMatch(
      /^also works: docker \(docker \S+, runtime runc\)\. Enforces memory, .*; not disk \(.*, dockerfiles \(BuildKit/,
    );
    expect(await countObjects()).toEqual([0, 0, 0]);
  },
);

test("doctor explains what to configure when no sandbox can start, and exits with 1", async () => {
  const forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
  const command = ["sh", "-c", forbid, "sh", join(root, "bin/outrider"), "doctor"];
  const end = await run("unshare", ["--user", "--map-root-user", ...command]).catch((error) => error);
  expect(end.code).toBe(1);
  // In this namespace root has no other uid for sandboxes. If it had one, doctor would report the namespace limit.
  expect(end.stdout).toMatch(
    /!! {2}sandbox .*(start the worker as an unprivileged user|user\.max_user_namespaces)/,
  );
});

test.each([
  ["worker", { OUTRIDER_WORKER_KEY: "orw_none" }],
  ["serve", {}],
])("%s rejects a kind of sandbox and a builder that do not exist", async (command, environment) => {
  const { code, stderr } = await outrider([command, "--sandbox", "nomad"], environment);
  expect(code).toBe(1);
  expect(stderr).toContain('--sandbox must be auto, local, docker or kubernetes, not "nomad".');
  const builder = await outrider([command, "--docker-builder", "kaniko"], environment);
  expect(builder.code).toBeGreaterThan(0);
  expect(builder.stderr).toContain('(OUTRIDER_DOCKER_BUILDER) must be sandbox or buildkit, not "kaniko".');
});

interface Finding {
  name: string;
  state: string;
  message: string;
  remedy?: string;
}

describe("doctor with the data of a server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await testServer({ OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1" });
  });
  afterAll(() => server.stop());

  async function doctor(overrides: Record<string, string> = {}, args: string[] = ["--for", "server"]) {
    const environment = { DATABASE_URL: server.databaseUrl, OUTRIDER_DATA_DIR: server.dataDir, ...overrides };
    const { code, stdout } = await outrider(["doctor", "--json", ...args], environment);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const find = (name: string) => findings.find((finding) => finding.name === name) as Finding;
    return { code, findings, find };
  }

  test("reports a healthy database, migrations, master key, disk and queue", async () => {
    const { code, findings, find } = await doctor();
    expect(code).toBe(0);
    expect(find("database").message).toMatch(/^PostgreSQL \d+.* responds in [\d.]+ ms$/);
    for (const name of ["migrations", "clock", "master key", "queue", "leases", "maintenance"])
      expect(find(name)).toMatchObject({ name, state: "ok" });
    expect(find("disk").message).toMatch(/GiB free/);
    for (const { state, remedy } of findings) expect(Boolean(remedy)).toBe(state !== "ok");
    expect(find("workers")).toMatchObject({
      state: "warn",
      remedy: expect.stringContaining("outrider worker"),
    });
  });

  test("fails if the master key differs or a migration is missing, and shows the remedy", async () => {
    const other = await doctor({ OUTRIDER_MASTER_KEY: randomBytes(32).toString("base64") });
    expect(other.code).toBe(1);
    expect(other.find("master key")).toMatchObject({ state: "fail" });
    const [last] = await server.db`delete from migrations where number = 14 returning *`;
    await server.db`insert into migrations (number, name, checksum) values (9999, '9999_next.sql', 'x')`;
    const missing = await doctor();
    expect(missing.find("migrations")).toMatchObject({
      state: "fail",
      message: expect.stringContaining("0014_brake"),
    });
    await server.db`insert into migrations ${server.db(last as Row)}`;
    expect((await doctor()).find("migrations")).toMatchObject({
      state: "warn",
      message: expect.stringContaining("9999_next.sql"),
    });
    await server.db`delete from migrations where number = 9999`;
  });

  test("checks the credentials of connected forges", async () => {
    const github = await startGitHubStub();
    try {
      await github.addRepository("acme/api");
      const { host } = new URL(github.url);
      const body = { type: "github", url: github.url, token: github.token };
      const { forge_id } = (await server.call("POST", "/agent/forges", { body })).body;
      const environment = { OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1" };
      const works = { name: "forge", state: "ok", message: `${host} accepts octocat` };
      expect((await doctor(environment)).find("forge")).toEqual(works);
      github.revokeToken();
      const revoked = await doctor(environment);
      expect(revoked.code).toBe(1);
      expect(revoked.find("forge")).toMatchObject({ state: "fail", message: expect.stringContaining(host) });
      await server.call("DELETE", `/agent/forges/${forge_id}`);
      expect(github.requests.every(({ method }) => method === "GET")).toBe(true);
    } finally {
      await github.close();
    }
  });

  test("reports active maintenance, and a disk that is too full for new runs", async () => {
    await server.call("PUT", "/installation/maintenance", { body: { admission: "paused" } });
    const { code, find } = await doctor({ OUTRIDER_MIN_FREE_MB: "99999999" });
    expect(find("maintenance")).toMatchObject({ state: "warn" });
    expect(find("disk")).toMatchObject({ state: "fail" });
    expect(code).toBe(1);
    await server.call("PUT", "/installation/maintenance", { body: {} });
  });

  test("lists model providers with their sources, and checks that they respond", async () => {
    const models = async (overrides: Record<string, string> = {}, args: string[] = []) => {
      const { findings, code } = await doctor(overrides, ["--for", "server", ...args]);
      const own = findings.filter(({ name }) => name === "models");
      return { code, lines: own.map(({ state, message }) => `${state} ${message}`) };
    };
    expect((await models()).lines).toEqual(["warn only the scripted test model is available"]);
    const base_url = `${server.origin}/v1`;
    const store = (name: string, body: object) =>
      server.call("PUT", `/agent/model-providers/${name}`, { body });
    const house = {
      type: "openai-compatible",
      base_url,
      models: [{ id: "tiny" }],
      api_key: "sk-house-01234567",
    };
    expect((await store("house", house)).status).toBe(200);
    expect((await store("keyless", { type: "anthropic" })).status).toBe(200);
    const path = join(server.dataDir, "models.json");
    const closed = { type: "openai-compatible", base_url: "http://127.0.0.1:1/v1", models: { one: {} } };
    await writeFile(path, JSON.stringify({ providers: { filed: closed } }));
    const { code, lines } = await models({ OPENAI_API_KEY: "sk-variable-01234567" }, ["--reach"]);
    expect(code).toBe(1);
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^ok default: openai\/\S+, from the first provider$/),
        "ok openai, from environment variables",
        "ok filed, from the models file",
        "ok house, from Settings → Models",
        "warn keyless, from Settings → Models, cannot be used",
        `ok house: ${new URL(server.origin).host} responds`,
        "fail filed: 127.0.0.1:1 refused the connection",
      ]),
    );
    await rm(path);
    const unknown = await models({ DATABASE_URL: "postgres://u:hidden@127.0.0.1:1/x" });
    expect(unknown.lines[0]).toBe("warn stored providers are not known");
    const other = await models({ OUTRIDER_MASTER_KEY: randomBytes(32).toString("base64") });
    expect(other.lines).toEqual(["fail cannot read the model configuration"]);
    for (const name of ["house", "keyless"]) await server.call("DELETE", `/agent/model-providers/${name}`);
  });

  test("reports a harnesses file that the server could not read", async () => {
    expect((await doctor()).find("harnesses")).toBeUndefined();
    const path = join(server.dataDir, "harnesses.json");
    await writeFile(path, JSON.stringify({ harnesses: { claude: { small_model_id: "scripted" } } }));
    expect((await doctor()).find("harnesses")).toMatchObject({ state: "ok", message: "configured: claude" });
    await writeFile(path, JSON.stringify({ harnesses: { claude: { command: ["x"] } } }));
    const { code, find } = await doctor();
    expect(code).toBe(1);
    expect(find("harnesses")).toMatchObject({
      state: "fail",
      remedy: expect.stringContaining("`/harnesses/claude/command` cannot be set"),
    });
    await rm(path);
  });

  test("reports an unreachable database without showing its password", async () => {
    const { code, findings, find } = await doctor({ DATABASE_URL: "postgres://u:hidden@127.0.0.1:1/x" });
    expect(code).toBe(1);
    expect(find("database").state).toBe("fail");
    expect(JSON.stringify(findings)).not.toContain("hidden");
  });

  test("checks the server and the worker key on a worker's machine", async () => {
    const key = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
    const settings = { OUTRIDER_SERVER: server.origin, OUTRIDER_WORKER_KEY: key };
    const healthy = await doctor(settings, ["--for", "worker"]);
    expect(healthy.find("server").state).toBe("ok");
    expect(healthy.find("clock").state).toBe("ok");
    expect(healthy.find("worker key").state).toBe("ok");
    expect(healthy.find("database")).toBeUndefined();
    const invalid = await doctor({ ...settings, OUTRIDER_WORKER_KEY: `${key.slice(0, -1)}!` }, [
      "--for",
      "worker",
    ]);
    expect(invalid.code).toBe(1);
    expect(invalid.find("worker key").state).toBe("fail");
    const unreachable = await doctor({ OUTRIDER_SERVER: "http://127.0.0.1:1" }, ["--for", "worker"]);
    expect(unreachable.find("server")).toMatchObject({
      state: "fail",
      remedy: expect.stringContaining("OUTRIDER_SERVER"),
    });
  });
});
