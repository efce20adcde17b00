import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { operations } from "../../packages/cli/test/operations.ts";
import { patience, startWorld, type World } from "../../packages/worker/test/world.ts";
import { type FaultProxy, startFaultProxy } from "../clients/fault-proxy.ts";
import { root } from "../process.ts";
import { type Cli, type CliOptions, makeCli, type Said } from "./cli.ts";

/** Every command against the real server and worker. What each asks the server for is seen on the way. */

vi.setConfig({ testTimeout: 60_000 });

let world: World;
let proxy: FaultProxy;
let cli: Cli;
let folder: string;
const covered = new Set<string>();

const document = JSON.parse(readFileSync(join(root, "openapi.json"), "utf8"));
const routes = Object.entries(
  document.paths as Record<string, Record<string, { operationId: string }>>,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({
    operationId,
    method: method.toUpperCase(),
    pattern: new RegExp(`^/api/v1${path.replaceAll(/\{\w+\}/g, "[^/?]+")}(\\?|$)`),
  })),
);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "outrider-cli-files-"));
  world = await startWorld({ OUTRIDER_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") });
  await world.worker();
  proxy = await startFaultProxy(world.origin);
  cli = makeCli({ OUTRIDER_API_KEY: world.key, OUTRIDER_BASE_URL: `${proxy.origin}/api/v1` });
});
afterAll(async () => {
  cli?.[Symbol.dispose]();
  await proxy?.close();
  await world?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command that must succeed, and notes which operations it called. */
async function play(line: string[], options?: CliOptions): Promise<Said> {
  proxy.set([]);
  const said = await cli(line, options);
  expect(`${said.code} ${said.stderr}`, line.join(" ")).toMatch(/^0 /);
  for (const { method, path } of proxy.seen()) {
    const route = routes.find((each) => each.method === method && each.pattern.test(path));
    const command = route && operations[route.operationId];
    if (command && line.join(" ").startsWith(command)) covered.add(route.operationId);
  }
  return said;
}

describe("runs", () => {
  test("everything that a run can be given arrives", async () => {
    const file = join(folder, "notes.md");
    const schema = join(folder, "schema.json");
    const servers = join(folder, "mcp.json");
    writeFileSync(file, "# Notes\n");
    writeFileSync(schema, '{"type": "object"}');
    writeFileSync(servers, '{"mcpServers": {"files": {"command": "npx", "args": ["x"]}}}');
    const environment = (await play(["env", "create", "workshop", "--network", "none", "--json"])).json;
    const { json } = await play([
      ...["run", "SAY: hello", "--json", "--name", "all", "--env", "workshop", "--model", "scripted"],
      ...["--base-prompt", `@${file}`, "--title", "Everything", "--limit", "max_steps=5"],
      ...["--limit", "timeout_minutes=3", "--attach", file, "--schema", schema, "--metadata", "ticket=7"],
      ...["--priority", "-3", "--idle", "0", "--mcp", servers, "--mcp", "docs=https://example.com/mcp"],
      ...["--mcp", "shell=run me"],
    ]);
    const run = await world.get(json.run_id);
    expect(run).toMatchObject({
      ...{ title: "Everything", prompt: "SAY: hello", source: "CLI", priority: -3 },
      ...{ limits: { max_steps: 5, timeout_minutes: 3 }, metadata: { ticket: "7" } },
      output_schema: { type: "object" },
      attachments: [{ file_name: "notes.md", mime_type: "text/markdown", size_bytes: 8 }],
      agent_config: {
        ...{ name: "all", model_id: "scripted", base_prompt: "# Notes\n", idle_timeout_minutes: 0 },
        environment_id: environment.environment_id,
        mcp_servers: {
          files: { command: "npx", args: ["x"] },
          docs: { url: "https://example.com/mcp" },
          shell: { command: "run", args: ["me"] },
        },
      },
    });
    await play(["runs", "cancel", json.run_id]).catch(() => {}); // It may have ended by itself.
  });

  test("a prompt comes from a file or from stdin", async () => {
    const file = join(folder, "prompt.txt");
    writeFileSync(file, "SAY: from a file");
    expect((await play(["run", `@${file}`, "--wait"])).stdout).toBe("from a file\n");
    expect((await play(["run", "-", "--wait"], { input: "SAY: from stdin" })).stdout).toBe("from stdin\n");
  });

  test("an answer that has to fit a schema is what --wait prints", async () => {
    const schema = join(folder, "answer.json");
    writeFileSync(schema, '{"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}');
    const { stdout } = await play(["run", 'CALL: finish {"n": 42}', "--schema", schema, "--wait"]);
    expect(JSON.parse(stdout)).toEqual({ n: 42 });
  });

  test("they are listed, found, read and deleted", async () => {
    const script = "RUN: printf 'one\\n' > a.txt; echo printed\nSAY: **done**";
    const { run_id } = (await play(["run", script, "--name", "read me", "--wait", "--json"])).json;
    await play(["run", "SAY: another"]);
    expect((await play(["runs", "list", "--name", "read me", "-q"])).stdout).toBe(`${run_id}\n`);
    expect((await play(["runs", "list", "--all", "--json"])).json.runs.length).toBeGreaterThan(1);
    const page = await play(["runs", "list", "--limit", "1", "--state", "succeeded"]);
    expect(page.stdout.split("\t")).toHaveLength(6);
    expect(page.stderr).toContain("More: --cursor ");
    expect((await play(["runs", "get", run_id])).stdout).toContain("SUCCEEDED");
    const link = (await play(["runs", "open", run_id, "--print"])).stdout.trim();
    expect(link).toBe((await world.get(run_id)).session_link);
    expect((await play(["runs", "get", link, "--json"])).json).toEqual(await world.get(run_id));
    expect((await play(["runs", "transcript", run_id])).stdout).toContain("**done**");
    expect((await play(["runs", "transcript", run_id, "--json"])).json.events).toBeInstanceOf(Array);
    const logs = (await play(["runs", "logs", run_id])).stdout;
    expect(logs).toMatch(/printed[\s\S]*exit 0[\s\S]*● \*\*done\*\*[\s\S]*SUCCEEDED/);
    expect((await play(["runs", "logs", run_id, "--json"])).json.events).toEqual(await world.events(run_id));
    const patch = (await play(["runs", "diff", run_id])).stdout;
    execFileSync("git", ["apply", "--check", "-"], { cwd: folder, input: patch });
    const shared = (await play(["runs", "share", run_id, "--hours", "2"])).stdout.trim();
    expect((await fetch(shared)).status).toBe(200);
    await play(["runs", "share", run_id, "--end"]);
    expect((await fetch(shared)).status).toBe(404);
    await play(["runs", "delete", run_id, "--yes"]);
    expect((await cli(["runs", "get", run_id])).code).toBe(4);
  });

  test("a session opens in the browser, which does not learn the key", async () => {
    const run = await world.create(["SAY: x"]);
    const { session_link } = await world.until(run, "SUCCEEDED");
    const browser = join(folder, "browser");
    const seen = join(folder, "seen");
    writeFileSync(
      browser,
      `#!/bin/sh\necho "$@" > ${seen}.part; env >> ${seen}.part; mv ${seen}.part ${seen}\n`,
    );
    chmodSync(browser, 0o755);
    await play(["runs", "open", run], { environment: { BROWSER: browser } });
    await vi.waitUntil(() => existsSync(seen), patience);
    expect(readFileSync(seen, "utf8").split("\n")[0]).toBe(session_link);
    expect(readFileSync(seen, "utf8")).not.toContain(world.key);
    const none = await play(["runs", "open", run], { environment: { BROWSER: join(folder, "none") } });
    expect(none).toMatchObject({
      stdout: `${session_link}\n`,
      stderr: expect.stringContaining("No browser"),
    });
  });

  test("they are steered and cancelled", async () => {
    const { run_id } = (await play(["run", "SLEEP: 60000", "--json"])).json;
    await world.until(run_id, "INPROGRESS");
    const queued = (await play(["runs", "followup", run_id, "SAY: later", "--mode", "queue", "--json"])).json;
    const { followup_id } = queued;
    await play(["runs", "followups", "edit", run_id, followup_id, "--message", "SAY: much later"]);
    const { stdout } = await play(["runs", "followups", "list", run_id]);
    expect(stdout).toBe(`${followup_id}\tqueued\tqueue\tSAY: much later\n`);
    await play(["runs", "followups", "withdraw", run_id, followup_id]);
    expect((await play(["runs", "cancel", run_id])).stdout).toBe("Cancelled.\n");
    expect((await world.get(run_id)).state).toBe("CANCELLED");
  });

  test("what they leave is fetched, and never over a file that is there", async () => {
    const { run_id } = (await play(["run", "RUN: seq 1 40000", "--wait", "--json"])).json;
    const [artifact] = (await world.get(run_id)).artifacts;
    const id = artifact.artifact_id as string;
    expect((await play(["artifact", "get", id])).stdout).toHaveLength(artifact.size_bytes);
    const path = join(folder, "output");
    await play(["artifact", "get", id, "-o", path]);
    expect(readFileSync(path)).toHaveLength(artifact.size_bytes);
    expect((await cli(["artifact", "get", id, "-o", path])).stderr).toContain("--force");
    await play(["artifact", "get", id, "-o", path, "--force"]);
    expect((await play(["artifact", "get", id, "--info"])).stdout).toContain(run_id);
  });
});

describe("around runs", () => {
  test("environments are made, changed in part, built and deleted", async () => {
    await play(["secret", "set", "TOKEN"], { input: "not to be seen\n" });
    const made = await play([
      ...["env", "create", "site", "--setup", "echo building", "--variable", "A=1", "--secret", "TOKEN"],
      ...["--network", "allowlist", "--allow", "example.com", "--cpus", "1", "--memory-mb", "256", "--json"],
    ]);
    const { environment_id } = made.json;
    expect(made.json).toMatchObject({
      ...{ setup_commands: ["echo building"], variables: { A: "1" }, secrets: ["TOKEN"] },
      ...{ network: { mode: "allowlist", allow: ["example.com"] }, resources: { cpus: 1, memory_mb: 256 } },
    });
    const changed = (await play(["env", "update", "site", "--description", "new", "--cpus", "2", "--json"]))
      .json;
    expect(changed).toMatchObject({
      ...{ description: "new", variables: { A: "1" }, resources: { cpus: 2, memory_mb: 256 }, version: 2 },
    });
    expect((await play(["env", "get", environment_id])).stdout).toContain("allowlist example.com");
    expect((await play(["env", "list"])).stdout).toContain("\tsite\t2\t");
    const log = await play(["env", "build", "site", "--follow"]);
    expect(log.stdout).toContain("building");
    expect(log.stderr).toContain("READY");
    const [build] = (await play(["env", "builds", environment_id, "-q"])).stdout.split("\n");
    expect((await play(["env", "builds", "site", build as string])).stdout).toContain("READY");
    expect((await play(["env", "log", "site"])).stdout).toContain("building");
    expect((await play(["env", "log", "site", "--json"])).json.build_id).toBe(build);
    expect((await play(["skill", "list", "--json"])).json).toEqual({ skills: [] });
    await play(["env", "delete", "site", "--yes"]);
    expect((await play(["secret", "list"])).stdout).toMatch(/^TOKEN\t/);
    await play(["secret", "delete", "TOKEN", "-y"]);
    expect((await play(["secret", "list"])).stderr).toBe("No secrets.\n");
  });

  test("cloud agents and keys are made, changed and ended", async () => {
    const { uid } = (await play(["agent", "create", "nightly", "--model", "scripted", "--json"])).json;
    await play(["agent", "update", "nightly", "--description", "at night"]);
    expect((await play(["agent", "get", uid, "--json"])).json).toMatchObject({
      ...{ name: "nightly", model_id: "scripted", description: "at night" },
    });
    expect((await play(["agent", "list"])).stdout).toBe(`${uid}\tnightly\tscripted\tat night\n`);
    const flags = [
      "--type",
      "agent",
      "--agent",
      "nightly",
      "--scope",
      "runs:read",
      "--limit",
      "max_concurrent_runs=2",
    ];
    const made = await play(["key", "create", "ci", ...flags]);
    const key = made.stdout.trim();
    expect(key).toMatch(/^ora_\w+$/);
    expect(made.stderr).not.toContain(key);
    const me = await cli(["me", "--json"], { environment: { OUTRIDER_API_KEY: key } });
    expect(me.json).toMatchObject({
      uid,
      key: { scopes: ["runs:read"], limits: { max_concurrent_runs: 2 } },
    });
    const { key_id } = me.json.key;
    expect((await play(["key", "list"])).stdout).toContain(key_id);
    await play(["key", "revoke", key_id, "--yes"]);
    expect((await cli(["me"], { environment: { OUTRIDER_API_KEY: key } })).code).toBe(3);
    await play(["agent", "delete", "nightly", "--yes"]);
  });

  test("models, workers and who I am", async () => {
    expect((await play(["model", "list"])).stdout).toContain("scripted\tdefault\t");
    expect((await play(["me"])).stdout).toContain("admin");
    expect((await play(["workers", "list"])).stdout).toContain("\tworker-1\talive\t");
  });

  test("an installation says its limits, and what it keeps", async () => {
    const { stdout } = await play(["installation"]);
    expect(stdout).toMatch(/^takes new runs +yes$/m);
    expect(stdout).toMatch(/^requests +\S+ a minute$/m);
    expect((await play(["installation", "--json"])).json).toMatchObject({
      brake: { intake: "open" },
      limits: { queue_timeout_hours: 24 },
      retention: { runs: {} },
    });
  });

  test("the brake is set, shown and released, and runs are cancelled by filter", async () => {
    await play(["brake", "pause", "--queue", "--message", "back soon"]);
    expect((await play(["brake", "show"])).stdout).toMatch(/^intake +paused\nqueue +paused\nmode +normal\n/);
    expect((await cli(["run", "SAY: x"])).stderr).toContain("back soon");
    expect((await play(["brake", "read-only", "--json"])).json.mode).toBe("read_only");
    expect((await play(["brake", "release", "--quiet"])).stdout).toBe("open\n");
    const counted = await play(["runs", "cancel", "--all", "--name", "nobody's", "--dry-run", "--json"]);
    expect(counted.json).toEqual({ cancelled: 0, remaining: 0 });
    expect((await play(["runs", "cancel", "--all", "--name", "nobody's", "--yes"])).stdout).toBe(
      "0 cancelled.\n",
    );
    expect((await cli(["runs", "cancel", "--state", "QUEUED"])).code).toBe(2);
  });

  test("people are invited, changed, let in again and deleted", async () => {
    const invited = await play(["people", "invite", "ada@example.com", "--name", "Ada"]);
    expect(invited.stdout).toMatch(/^http:\/\/\S+\/login#token=orl_\w{49}\n$/);
    expect(invited.stderr).not.toContain("orl_");
    expect((await play(["people", "list"])).stdout).toContain("\tada@example.com\tAda\tmember\tnone");
    await play(["people", "update", "Ada@Example.com", "--role", "admin", "--name", "Ada L."]);
    expect((await play(["people", "list"])).stdout).toContain("\tada@example.com\tAda L.\tadmin\t");
    const link = (await play(["people", "link", "ada@example.com", "--json"])).json;
    expect(Object.keys(link).toSorted()).toEqual(["expires_at", "link"]);
    await play(["people", "delete", "ada@example.com", "--yes"]);
    expect((await play(["people", "list"])).stdout).not.toContain("ada@example.com");
    expect((await cli(["people", "link", "ada@example.com"])).code).toBe(4);
  });

  test("any path can be called", async () => {
    const body = { name: "by hand", network: { mode: "none" } };
    const made = await play(["api", "post", "/agent/environments", "--input", "-"], {
      input: JSON.stringify(body),
    });
    const path = `/agent/environments/${made.json.environment_id}`;
    const fields = ["-f", "name=by fields", "-F", 'network={"mode":"open"}'];
    expect((await play(["api", "PUT", path, ...fields])).json).toMatchObject({
      version: 2,
      name: "by fields",
    });
    expect((await play(["api", "get", "/agent/runs", "-f", "limit=1"])).json.runs).toHaveLength(1);
    expect((await play(["api", "delete", path])).stdout).toBe("");
    const refused = await cli(["api", "get", "/me", "-H", `Authorization: Bearer ${world.key}`]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
  });
});

test("a worker is drained", async () => {
  const worker = await world.workerProcess("to be drained");
  const all = (await play(["workers", "list", "--json"])).json.workers as {
    worker_id: string;
    name: string;
  }[];
  const { worker_id } = all.find(({ name }) => name === "to be drained") as { worker_id: string };
  await play(["workers", "drain", worker_id]);
  expect((await worker.ended).code).toBe(0);
});

test("all of that was every operation of the API, each by the command that the table names", () => {
  expect([...covered].toSorted()).toEqual(Object.keys(operations).toSorted());
});
