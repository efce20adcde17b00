import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openVault } from "../../src/engine/auth/vault.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

describe("an environment", () => {
  test("returns every setting, with defaults for omitted ones", async () => {
    const { status, body } = await server.call("POST", "/agent/environments", { body: { name: "bare" } });
    expect(status).toBe(201);
    expect(body).toEqual({
      environment_id: expect.any(String),
      name: "bare",
      repos: [],
      setup_commands: [],
      start_commands: [],
      variables: {},
      secrets: [],
      build_secrets: [],
      network: { mode: "none" },
      version: 1,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
  });

  test("stores what was sent, and a replacement increments the version", async () => {
    const sent = {
      name: "full",
      description: "all of it",
      repos: [
        { owner: "acme", repo: "api", ref: "main" },
        { url: "git@example.com:acme/web.git", path: "web" },
      ],
      setup_commands: ["npm ci", "npm run build"],
      start_commands: ["redis-server --daemonize yes"],
      checks: [{ name: "types", command: "npx tsc --noEmit", globs: ["*.ts"] }],
      variables: { CI: "1", EMPTY: "" },
      network: { mode: "allowlist", allow: ["*.example.com", "example.org"] },
      resources: { cpus: 0.5, memory_mb: 512, pids: 64, disk_mb: 1024 },
      git_author: { name: "Build Bot", email: "bot@example.com" },
      timeout_minutes: 30,
    };
    const { body } = await server.call("POST", "/agent/environments", { body: sent });
    expect(body).toMatchObject({ ...sent, version: 1 });
    const path = `/agent/environments/${body.environment_id}`;
    expect((await server.call("GET", path)).body).toEqual(body);
    const replaced = (await server.call("PUT", path, { body: { name: "less" } })).body;
    expect(replaced).toMatchObject({ name: "less", repos: [], variables: {}, version: 2 });
    expect(replaced.description).toBeUndefined();
    expect(replaced.resources).toBeUndefined();
  });

  test("that is deleted cannot be used by new runs and stays on old ones", async () => {
    const { environment_id } = (await server.call("POST", "/agent/environments", { body: { name: "old" } }))
      .body;
    const run = await server.call("POST", "/agent/run", {
      body: { prompt: "x", config: { environment_id } },
    });
    const path = `/agent/environments/${environment_id}`;
    expect((await server.call("DELETE", path)).status).toBe(204);
    expect((await server.call("DELETE", path)).status).toBe(404);
    expect((await server.call("GET", path)).status).toBe(404);
    const { environments } = (await server.call("GET", "/agent/environments")).body;
    expect(environments.map((one: { name: string }) => one.name)).not.toContain("old");
    const { agent_config } = (await server.call("GET", `/agent/runs/${run.body.run_id}`)).body;
    expect(agent_config.environment_id).toBe(environment_id);
  });
});

describe("a secret", () => {
  test("is listed by name, and its value is never returned", async () => {
    const value = "s3cret-value-that-must-not-show";
    const { status, text } = await server.call("PUT", "/agent/secrets/SHOWN", { body: { value } });
    expect(status).toBe(200);
    const list = await server.call("GET", "/agent/secrets");
    expect(list.body.secrets).toContainEqual({ name: "SHOWN", updated_at: expect.any(String) });
    expect(text + list.text).not.toContain(value);
  });

  test("is encrypted at rest, each time differently", async () => {
    const value = "another-value-for-the-database";
    const stored = async () => {
      await server.call("PUT", "/agent/secrets/AT_REST", { body: { value } });
      const [row] = await server.db`select sealed from secrets where name = 'AT_REST'`;
      return row?.sealed as Buffer;
    };
    const [one, two] = [await stored(), await stored()];
    expect(one.includes(value)).toBe(false);
    expect(one.equals(two)).toBe(false);
  });

  test.each(["secrets", "build_secrets"])(
    "that an environment uses in `%s` cannot be deleted",
    async (field) => {
      await server.call("PUT", "/agent/secrets/USED", { body: { value: "long enough" } });
      const { environment_id } = (
        await server.call("POST", "/agent/environments", { body: { name: "user", [field]: ["USED"] } })
      ).body;
      const refused = await server.call("DELETE", "/agent/secrets/USED");
      expect(refused.status).toBe(409);
      expect(refused.body.detail).toContain("user");
      await server.call("DELETE", `/agent/environments/${environment_id}`);
      expect((await server.call("DELETE", "/agent/secrets/USED")).status).toBe(204);
      expect((await server.call("DELETE", "/agent/secrets/USED")).status).toBe(404);
    },
  );
});

describe("the vault", () => {
  const vault = openVault(randomBytes(32));

  test("opens what it sealed", () => {
    expect(vault.open(vault.seal("plain ünïcode", "secret A"), "secret A")).toBe("plain ünïcode");
  });

  test("rejects another context, another master key and any changed byte", () => {
    const sealed = vault.seal("plain", "secret A");
    expect(() => vault.open(sealed, "secret B")).toThrow();
    expect(() => openVault(randomBytes(32)).open(sealed, "secret A")).toThrow();
    for (let index = 0; index < sealed.length; index++) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] as number) ^ 1;
      expect(() => vault.open(changed, "secret A")).toThrow();
    }
  });
});
