import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type StubModel, startStubModel } from "../../packages/agent/test/stub-model/server.ts";
import { operations } from "../../packages/cli/test/operations.ts";
import { startGitHubStub } from "../../packages/server/test/forges/github-stub.ts";
import { startTestInstallation, type TestInstallation } from "../../packages/worker/test/installation.ts";
import { Origin, serveSsh } from "../../packages/worker/test/repositories/git-server.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type FaultProxy, startFaultProxy } from "../clients/fault-proxy.ts";
import { root } from "../process.ts";
import { type Cli, type CliOptions, type CliResult, createCli } from "./cli.ts";

/** Runs every command against a real server and worker, and records which API operations it calls. */

let installation: TestInstallation;
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
  installation = await startTestInstallation({
    OUTRIDER_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1",
  });
  await installation.worker({ repositoryPaths: [folder], allowedAddresses: "127.0.0.1" });
  proxy = await startFaultProxy(installation.origin);
  cli = createCli({ OUTRIDER_API_KEY: installation.key, OUTRIDER_BASE_URL: `${proxy.origin}/api/v1` });
});
afterAll(async () => {
  cli?.[Symbol.dispose]();
  await proxy?.close();
  await installation?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command that must succeed, and records the operations that it called. */
async function runCommand(line: string[], options?: CliOptions): Promise<CliResult> {
  proxy.set([]);
  const result = await cli(line, options);
  expect(`${result.code} ${result.stderr}`, line.join(" ")).toMatch(/^0 /);
  for (const { method, path } of proxy.seen()) {
    const route = routes.find((candidate) => candidate.method === method && candidate.pattern.test(path));
    const command = route && operations[route.operationId];
    if (command && line.join(" ").startsWith(command)) covered.add(route.operationId);
  }
  return result;
}

describe("runs", () => {
  test("passes all options of a run to the server", async () => {
    const file = join(folder, "notes.md");
    const schema = join(folder, "schema.json");
    const servers = join(folder, "mcp.json");
    writeFileSync(file, "# Notes\n");
    writeFileSync(schema, '{"type": "object"}');
    writeFileSync(servers, '{"mcpServers": {"files": {"command": "npx", "args": ["x"]}}}');
    const environment = (await runCommand(["env", "create", "workshop", "--network", "none", "--json"])).json;
    const { json } = await runCommand([
      ...["run", "SAY: hello", "--json", "--name", "all", "--env", "workshop", "--model", "scripted"],
      ...["--base-prompt", `@${file}`, "--title", "Everything", "--limit", "max_steps=5"],
      ...["--limit", "timeout_minutes=3", "--attach", file, "--schema", schema, "--metadata", "ticket=7"],
      ...["--priority", "-3", "--idle", "0", "--mcp", servers, "--mcp", "docs=https://example.com/mcp"],
      ...["--mcp", "shell=run me", "--harness", "outrider"],
    ]);
    const run = await installation.get(json.run_id);
    expect(run).toMatchObject({
      ...{ title: "Everything", prompt: "SAY: hello", source: "CLI", priority: -3 },
      ...{ limits: { max_steps: 5, timeout_minutes: 3 }, metadata: { ticket: "7" } },
      output_schema: { type: "object" },
      attachments: [{ file_name: "notes.md", mime_type: "text/markdown", size_bytes: 8 }],
      agent_config: {
        ...{ name: "all", model_id: "scripted", base_prompt: "# Notes\n", idle_timeout_minutes: 0 },
        harness: "outrider",
        environment_id: environment.environment_id,
        mcp_servers: {
          files: { command: "npx", args: ["x"] },
          docs: { url: "https://example.com/mcp" },
          shell: { command: "run", args: ["me"] },
        },
      },
    });
    expect((await runCommand(["runs", "get", json.run_id])).stdout).toMatch(/^harness +outrider$/m);
    const found = await runCommand(["runs", "list", "--harness", "outrider", "--name", "all", "-q"]);
    expect(found.stdout).toBe(`${json.run_id}\n`);
    const other = ["runs", "list", "--harness", "claude", "--name", "all", "-q"];
    expect((await runCommand(other)).stdout).toBe("");
    await runCommand(["runs", "cancel", json.run_id]).catch(() => {}); // The run may already have ended.
  });

  test("reads a prompt from a file or from stdin", async () => {
    const file = join(folder, "prompt.txt");
    writeFileSync(file, "SAY: from a file");
    expect((await runCommand(["run", `@${file}`, "--wait"])).stdout).toBe("from a file\n");
    expect((await runCommand(["run", "-", "--wait"], { input: "SAY: from stdin" })).stdout).toBe(
      "from stdin\n",
    );
  });

  test("starts a skill without a prompt", async () => {
    const { json } = await runCommand(["run", "--skill", "acme/none:deploy", "--json"]);
    expect(await installation.get(json.run_id)).toMatchObject({
      prompt: "Use the skill deploy.",
      agent_config: { skill_spec: "acme/none:deploy" },
    });
    const { code, stderr } = await cli(["run"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("A run needs a prompt or a skill.")]);
  });

  test("starts a template with values for its variables", async () => {
    const prompt = "SAY: {{greeting}} {{who}}";
    const put = ["template", "put", "Greet", prompt, "--default", "greeting=hello", "--model", "scripted"];
    const { json: template } = await runCommand([...put, "--options", "greeting=hello,bye", "--json"]);
    expect(template).toMatchObject({
      variables: [{ name: "greeting", default: "hello", options: ["hello", "bye"] }, { name: "who" }],
      config: { model_id: "scripted" },
    });
    const start = ["run", "--template", "Greet", "--wait"];
    expect((await runCommand([...start, "--var", "who=Ada"])).stdout).toBe("hello Ada\n");
    const mistakes = {
      "The template needs who. Pass --var who=….": start,
      "greeting must be one of: hello, bye.": [...start, "--var", "who=Ada", "--var", "greeting=hi"],
      "The template has no variable whom.": [...start, "--var", "whom=Ada"],
      "--var requires --template.": ["run", "SAY: hi", "--var", "who=Ada"],
      "Pass a prompt or --template, not both.": [...start, "SAY: hi"],
    };
    for (const [message, line] of Object.entries(mistakes)) {
      const { code, stderr } = await cli(line);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
    await runCommand(["template", "put", "greet", "--description", "Greets somebody"]);
    const listed = (await runCommand(["template", "list"])).stdout;
    expect(listed).toContain("Greet\tgreeting, who\tAdmin\tGreets somebody");
    expect((await runCommand(["template", "get", template.template_id])).stdout).toContain(prompt);
    await runCommand(["template", "delete", "Greet", "--yes"]);
    expect((await runCommand(["template", "list", "-q"])).stdout).toBe("");
  });

  test("lists and dismisses runs that need attention, and lists a saved view", async () => {
    const ask = ["run", "ASK: Which one?", "--name", "asks", "--wait", "--json"];
    const { stdout } = await cli(ask);
    const { run_id } = JSON.parse(stdout);
    const ids = async (...flags: string[]) =>
      (await runCommand(["runs", "attention", "-q", ...flags])).stdout.split("\n");
    expect(await ids("--mine")).toContain(run_id);
    await runCommand(["runs", "dismiss", run_id, "--until", "2h"]);
    expect(await ids()).not.toContain(run_id);
    await runCommand(["runs", "dismiss", run_id, "--undo"]);
    expect(await ids()).toContain(run_id);
    expect((await runCommand(["runs", "dismiss", "--all"])).stdout).toMatch(/^Dismissed \d+ runs?\.$/m);
    expect(await ids()).toEqual([""]);
    expect((await cli(["runs", "dismiss"])).code).toBe(2);

    const view = { name: "Asking", query: { config_name: ["asks"] }, sort: { by: "cost", order: "asc" } };
    await runCommand(["api", "post", "/agent/views", "--input", "-"], { input: JSON.stringify(view) });
    const list = await runCommand(["runs", "list", "--view", "Asking", "--total"]);
    expect(list.stdout.split("\t")[0]).toBe(run_id);
    expect(list.stderr).toContain("Total: 1\n");
    const none = ["runs", "list", "--view", "Asking", "--error-code", "timeout", "--repository", "acme/api"];
    expect((await runCommand([...none, "--sort", "duration", "-q"])).stdout).toBe("");
    await runCommand(["runs", "cancel", run_id]);
  });

  test("prints the structured output with --wait and --schema", async () => {
    const schema = join(folder, "answer.json");
    writeFileSync(schema, '{"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}');
    const { stdout } = await runCommand(["run", 'CALL: finish {"n": 42}', "--schema", schema, "--wait"]);
    expect(JSON.parse(stdout)).toEqual({ n: 42 });
  });

  test("lists, finds, shows and deletes runs", async () => {
    const script = "RUN: printf 'one\\n' > a.txt; echo printed\nSAY: **done**";
    const { run_id } = (await runCommand(["run", script, "--name", "read me", "--wait", "--json"])).json;
    await runCommand(["run", "SAY: another"]);
    expect((await runCommand(["runs", "list", "--name", "read me", "-q"])).stdout).toBe(`${run_id}\n`);
    expect((await runCommand(["runs", "list", "--all", "--json"])).json.runs.length).toBeGreaterThan(1);
    const page = await runCommand(["runs", "list", "--limit", "1", "--state", "succeeded"]);
    expect(page.stdout.split("\t")).toHaveLength(7);
    expect(page.stderr).toContain("More runs: use --cursor ");
    expect((await runCommand(["runs", "get", run_id])).stdout).toContain("SUCCEEDED");
    const link = (await runCommand(["runs", "open", run_id, "--print"])).stdout.trim();
    expect(link).toBe((await installation.get(run_id)).session_link);
    expect((await runCommand(["runs", "get", link, "--json"])).json).toEqual(await installation.get(run_id));
    expect((await runCommand(["runs", "transcript", run_id])).stdout).toContain("**done**");
    expect((await runCommand(["runs", "transcript", run_id, "--json"])).json.events).toBeInstanceOf(Array);
    const logs = (await runCommand(["runs", "logs", run_id])).stdout;
    expect(logs).toMatch(/printed[\s\S]*exit 0[\s\S]*● \*\*done\*\*[\s\S]*SUCCEEDED/);
    expect((await runCommand(["runs", "logs", run_id, "--json"])).json.events).toEqual(
      await installation.events(run_id),
    );
    const listed = await runCommand(["runs", "files", run_id, "--json"]);
    const { name, size_bytes } = listed.json.entries[0];
    expect((await runCommand(["runs", "files", run_id])).stdout).toContain(name);
    const content = await runCommand(["runs", "files", "get", run_id, name]);
    expect(Buffer.byteLength(content.stdout)).toBe(size_bytes);
    const target = join(folder, "downloaded");
    await runCommand(["runs", "files", "get", run_id, name, "-o", target]);
    expect(readFileSync(target, "utf8")).toBe(content.stdout);
    expect((await cli(["runs", "files", "get", run_id, name, "-o", target])).stderr).toMatch(/--force/);
    expect((await cli(["runs", "files", run_id, "missing"])).code).toBe(4);
    const patch = (await runCommand(["runs", "diff", run_id])).stdout;
    execFileSync("git", ["apply", "--check", "-"], { cwd: folder, input: patch });
    const shared = (await runCommand(["runs", "share", run_id, "--hours", "2"])).stdout.trim();
    expect((await fetch(shared)).status).toBe(200);
    await runCommand(["runs", "share", run_id, "--revoke"]);
    expect((await fetch(shared)).status).toBe(404);
    await runCommand(["runs", "delete", run_id, "--yes"]);
    expect((await cli(["runs", "get", run_id])).code).toBe(4);
  });

  test("applies the changes of a run to a clone of its repository", async () => {
    const origins = ["api", "web"].map((name) => new Origin(folder, name));
    for (const origin of origins) origin.push("main", { "a.txt": "one\ntwo\nthree\nfour\nfive\nsix\n" });
    const [api, web] = origins as [Origin, Origin];
    const url = ({ bare }: Origin) => `file://${bare}`;
    const clone = join(folder, "clone");
    execFileSync("git", ["clone", "--quiet", api.bare, clone]);
    const git = (...args: string[]) => execFileSync("git", args, { cwd: clone, encoding: "utf8" });
    const start = async (name: string, repositories: Origin[], script: string) => {
      const flags = repositories.flatMap((origin) => ["--repo", url(origin)]);
      await runCommand(["env", "create", name, ...flags, "--network", "none"]);
      return (await runCommand(["run", script, "--env", name, "--wait", "--json"])).json.run_id as string;
    };
    const one = await start(
      "apply one",
      [api],
      "RUN: sed -i s/one/ONE/ a.txt; echo new > 'ü \u{1b}[31m.txt'",
    );
    const stat = await runCommand(["runs", "diff", one, "--stat"]);
    expect(stat.stdout).toBe(
      " a.txt  | 2 +-\n ü .txt | 1 +\n 2 files changed, 2 insertions(+), 1 deletion(-)\n",
    );

    const elsewhere = await cli(["runs", "apply", one], { cwd: folder });
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(`a clone of ${url(api)}`) });
    expect((await runCommand(["runs", "apply", one, "--check"], { cwd: clone })).stdout).toBe(
      "The changes of the run apply: 2 files.\n",
    );
    expect(git("status", "--porcelain")).toBe("");
    const applied = await runCommand(["runs", "apply", one], { cwd: clone });
    expect(applied.stdout).toBe("Changed 2 files:\n  a.txt\n  ü .txt\n");
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toMatch(/^ONE\ntwo\n/);
    const again = await cli(["runs", "apply", one], { cwd: clone });
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("uncommitted changes here: a.txt"),
    });
    git("reset", "--quiet", "--hard");

    // The base has moved, and the clone does not have it yet.
    api.push("main", { "a.txt": "one\ntwo\nthree\nfour\nfive\nSIX\n" });
    const two = await start(
      "apply two",
      [api, web],
      "RUN: for r in api web; do sed -i s/one/TWO/ $r/a.txt; done",
    );
    expect((await cli(["runs", "apply", two, "--repository", "none"], { cwd: clone })).stderr).toContain(
      'no repository at "none". Its repositories are: api, web.',
    );
    const merged = await runCommand(["runs", "apply", two, "--json"], { cwd: clone });
    expect(merged.json).toMatchObject({ path: "api", folder: clone, files: ["a.txt"], conflicts: [] });
    expect(merged.stderr).toMatch(/^Fetching [0-9a-f]{12} from origin\.$/m);
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toMatch(/^TWO\ntwo\n/);
    git(
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@example.com",
      "commit",
      "--quiet",
      "--all",
      "--message",
      "two",
    );
    const conflict = await cli(["runs", "apply", one], { cwd: clone });
    expect(conflict).toMatchObject({ code: 1, stdout: "Changed 2 files with conflicts in:\n  a.txt\n" });
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toContain("<<<<<<<");
  });

  test("publishes, approves, rejects and checks out the changes of a run", async () => {
    const origin = new Origin(folder, "published");
    origin.push("main", { "a.txt": "one\n" });
    const ssh = await serveSsh(folder);
    onTestFinished(() => ssh.stop());
    const url = `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origin.bare}`;
    const clone = join(folder, "published.clone");
    execFileSync("git", ["clone", "--quiet", origin.bare, clone]);
    execFileSync("git", ["remote", "set-url", "origin", url], { cwd: clone });
    execFileSync("git", ["config", `url.${origin.bare}.insteadOf`, url], { cwd: clone });
    const start = async (name: string, script: string, publish: object) => {
      const repos = [{ url, secret: "PUSH", publish }];
      const input = JSON.stringify({ name, repos, network: { mode: "none" } });
      await runCommand(["env", "create", name, "--input", "-"], { input });
      return (await cli(["run", script, "--env", name, "--wait", "--json"])).json as {
        run_id: string;
      };
    };
    await runCommand(["secret", "set", "PUSH"], { input: ssh.key });
    const { run_id } = await start("publish", "RUN: echo two >> a.txt", { publish: "branch" });
    const checkedOut = (await runCommand(["runs", "checkout", run_id, "--json"], { cwd: clone })).json;
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toBe("one\ntwo\n");
    const published = await runCommand(["runs", "publish", run_id, "--title", "Add two"]);
    const branch = published.stdout.trim();
    expect(branch).toBe(checkedOut.branch);
    expect(origin.run("ls-remote", origin.bare, `refs/heads/${branch}`)).toContain(checkedOut.commit);
    const fetched = await runCommand(["runs", "checkout", run_id, "--branch", "fetched"], { cwd: clone });
    expect(fetched.stdout).toContain(`(origin/${branch})`);
    const list = await runCommand(["runs", "publications", run_id, "--json"]);
    expect(list.json.publications).toMatchObject([{ state: "DONE", kind: "branch", branch }]);

    const policy = { publish: "branch", when: "always", approval: "required" };
    const [one, two] = [
      await start("approved", "RUN: echo three >> a.txt", policy),
      await start("rejected", "RUN: echo four >> a.txt", policy),
    ];
    expect((await runCommand(["runs", "get", one.run_id])).stdout).toMatch(/^state +BLOCKED$/m);
    expect((await runCommand(["runs", "logs", one.run_id])).stdout).toContain("outrider runs approve");
    const approved = await runCommand([
      "runs",
      "approve",
      one.run_id,
      "--yes",
      "--wait",
      "--comment",
      "good",
    ]);
    expect(origin.run("ls-remote", origin.bare, `refs/heads/${approved.stdout.trim()}`)).not.toBe("");
    expect((await runCommand(["runs", "reject", two.run_id, "--yes"])).stdout).toBe("Rejected.\n");
    await installation.until(two.run_id, "SUCCEEDED");
    for (const name of ["publish", "approved", "rejected"])
      await runCommand(["env", "delete", name, "--yes"]);
    await runCommand(["secret", "delete", "PUSH", "--yes"]);
  });

  test("finds a run by the beginning of its ID", async () => {
    const { run_id } = (await runCommand(["run", "SAY: short", "--wait", "--json"])).json;
    await runCommand(["run", "SAY: another in the same minute"]);
    const ids: string[] = (await runCommand(["runs", "list", "--all", "-q"])).stdout.trim().split("\n");
    const matching = (prefix: string) => ids.filter((id) => id.startsWith(prefix));
    const lengths = Array.from(run_id, (_, index) => index + 1);
    const unique = lengths.find((length) => matching(run_id.slice(0, length)).length === 1) ?? 0;
    const prefix = run_id.slice(0, unique);
    expect((await runCommand(["runs", "get", prefix, "-q"])).stdout).toBe(`${run_id}\n`);
    expect((await runCommand(["runs", "logs", prefix.toUpperCase()])).stdout).toContain("short");

    const shorter = run_id.slice(0, unique - 1);
    const ambiguous = await cli(["runs", "cancel", shorter]);
    expect(ambiguous).toMatchObject({ code: 2, stdout: "" });
    expect(ambiguous.stderr).toContain(`More than one run ID starts with ${shorter}. Use one of:\n`);
    const lines = ambiguous.stderr.matchAll(/^ {2}([0-9a-f-]{36}) {2}[A-Z]+ {2}./gm);
    const listed = new Set([...lines].map(([, id]) => id));
    // The command lists up to ten matches. How many there are depends on the speed of the other tests.
    expect(listed.size).toBe(Math.min(matching(shorter).length, 10));
    expect(matching(shorter)).toEqual(expect.arrayContaining([...listed]));

    expect(await cli(["runs", "get", "ffff"])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("No run has an ID that starts with ffff."),
    });
    expect((await cli(["runs", "get", "019"])).stderr).toContain("is not a run ID");
  });

  test("filters by relative times", async () => {
    const name = "relative";
    const { run_id } = (await runCommand(["run", "SAY: now", "--name", name, "--json"])).json;
    const list = async (...times: string[]) =>
      (await runCommand(["runs", "list", "--name", name, "-q", ...times])).stdout.trim();
    expect(await list("--created-after", "1h")).toBe(run_id);
    expect(await list("--updated-after", "1d12h")).toBe(run_id);
    expect(await list("--created-before", "1h")).toBe("");
    expect(await list("--created-after", "2020-01-31")).toBe(run_id);
  });

  test("filters JSON with jq", async () => {
    const { run_id } = (await runCommand(["run", "SAY: <filtered>", "--name", "jq", "--wait", "--json"]))
      .json;
    const { stdout } = await runCommand([
      "runs",
      "list",
      "--name",
      "jq",
      "--jq",
      ".runs[] | .run_id, .usage",
    ]);
    const [id, usage = ""] = stdout.split("\n");
    expect(id).toBe(run_id);
    expect(JSON.parse(usage)).toMatchObject({ steps: expect.any(Number) });
    expect((await runCommand(["--jq", ".title", "runs", "get", run_id])).stdout).toBe("SAY: <filtered>\n");
    const types = await runCommand(["runs", "logs", "-f", run_id, "--jq", "select(.seq <= 2) | .type"]);
    expect(types.stdout).toBe("run.created\nrun.claimed\n");
    const messages = '[.events[] | select(.type == "message.agent")] | length';
    expect((await runCommand(["runs", "transcript", run_id, "--jq", messages])).stdout).toBe("1\n");
    const models = await runCommand(["api", "get", "/agent/models", "--jq", ".default_model_id"]);
    expect(models.stdout).toBe("scripted\n");
    expect((await runCommand(["runs", "get", run_id, "--jq", "empty"])).stdout).toBe("");
  });

  test("rejects an invalid jq filter before it has an effect", async () => {
    proxy.set([]);
    const invalid = await cli(["run", "SAY: x", "--jq", ".run_id["]);
    expect(invalid).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--jq: syntax error"),
    });
    expect(proxy.seen()).toEqual([]);
    const failing = await cli(["me", "--jq", ".uid.name"]);
    expect(failing).toMatchObject({
      code: 2,
      stdout: "",
      stderr: 'outrider: --jq: Cannot index string with string "name".\n',
    });
  });

  test("has the aliases ls and view", async () => {
    const { run_id } = (await runCommand(["run", "SAY: alias", "--name", "alias", "--json"])).json;
    expect((await cli(["runs", "ls", "--name", "alias", "-q"])).stdout).toBe(`${run_id}\n`);
    expect((await cli(["runs", "view", run_id, "-q"])).stdout).toBe(`${run_id}\n`);
    const help = (await cli(["runs", "--help"])).stdout;
    expect(help).toContain("list|ls");
    expect(help).toContain("get|view");
  });

  test("opens a session in the browser without passing the key on", async () => {
    const run = await installation.create(["SAY: x"]);
    const { session_link } = await installation.until(run, "SUCCEEDED");
    const browser = join(folder, "browser");
    const seen = join(folder, "seen");
    writeFileSync(
      browser,
      `#!/bin/sh\necho "$@" > ${seen}.part; env >> ${seen}.part; mv ${seen}.part ${seen}\n`,
    );
    chmodSync(browser, 0o755);
    await runCommand(["runs", "open", run], { environment: { BROWSER: browser } });
    await vi.waitUntil(() => existsSync(seen), waitOptions);
    expect(readFileSync(seen, "utf8").split("\n")[0]).toBe(session_link);
    expect(readFileSync(seen, "utf8")).not.toContain(installation.key);
    const none = await runCommand(["runs", "open", run], { environment: { BROWSER: join(folder, "none") } });
    expect(none).toMatchObject({
      stdout: `${session_link}\n`,
      stderr: expect.stringContaining("No browser"),
    });
  });

  test("steers and cancels runs", async () => {
    const { run_id } = (await runCommand(["run", "SLEEP: 60000", "--json"])).json;
    await installation.until(run_id, "INPROGRESS");
    const queued = (await runCommand(["runs", "followup", run_id, "SAY: later", "--mode", "queue", "--json"]))
      .json;
    const { followup_id } = queued;
    await runCommand(["runs", "followups", "edit", run_id, followup_id, "--message", "SAY: much later"]);
    const { stdout } = await runCommand(["runs", "followups", "list", run_id]);
    expect(stdout).toBe(`${followup_id}\tqueued\tqueue\tSAY: much later\n`);
    await runCommand(["runs", "followups", "withdraw", run_id, followup_id]);
    expect((await runCommand(["runs", "cancel", run_id])).stdout).toBe("Cancelled.\n");
    expect((await installation.get(run_id)).state).toBe("CANCELLED");
  });

  test("downloads artifacts without overwriting files", async () => {
    const { run_id } = (await runCommand(["run", "RUN: seq 1 40000", "--wait", "--json"])).json;
    const [artifact] = (await installation.get(run_id)).artifacts;
    const id = artifact.artifact_id as string;
    expect((await runCommand(["artifact", "get", id])).stdout).toHaveLength(artifact.size_bytes);
    const path = join(folder, "output");
    await runCommand(["artifact", "get", id, "-o", path]);
    expect(readFileSync(path)).toHaveLength(artifact.size_bytes);
    expect((await cli(["artifact", "get", id, "-o", path])).stderr).toContain("--force");
    await runCommand(["artifact", "get", id, "-o", path, "--force"]);
    expect((await runCommand(["artifact", "get", id, "--info"])).stdout).toContain(run_id);
  });
});

describe("resources", () => {
  test("creates, updates, builds and deletes environments", async () => {
    await runCommand(["secret", "set", "TOKEN"], { input: "not to be seen\n" });
    const made = await runCommand([
      ...["env", "create", "site", "--setup", "echo building", "--variable", "A=1", "--secret", "TOKEN"],
      ...["--build-secret", "TOKEN", "--start", "seq 12; echo starting"],
      ...["--network", "allowlist", "--allow", "example.com", "--cpus", "1", "--memory-mb", "256", "--json"],
      ...["--git-author", "Build Bot <bot@example.com>", "--harness", "claude"],
    ]);
    const { environment_id } = made.json;
    expect(made.json).toMatchObject({
      ...{ setup_commands: ["echo building"], variables: { A: "1" }, secrets: ["TOKEN"] },
      ...{ build_secrets: ["TOKEN"], start_commands: ["seq 12; echo starting"] },
      ...{ network: { mode: "allowlist", allow: ["example.com"] }, resources: { cpus: 1, memory_mb: 256 } },
      git_author: { name: "Build Bot", email: "bot@example.com" },
      harness: "claude",
    });
    await runCommand(["env", "update", "site", "--harness", "outrider"]);
    expect((await runCommand(["env", "get", environment_id])).stdout).toMatch(/^harness +outrider$/m);
    const changed = (
      await runCommand(["env", "update", "site", "--description", "new", "--cpus", "2", "--json"])
    ).json;
    expect(changed).toMatchObject({
      ...{ description: "new", variables: { A: "1" }, resources: { cpus: 2, memory_mb: 256 }, version: 3 },
    });
    expect((await runCommand(["env", "get", environment_id])).stdout).toContain("allowlist example.com");
    expect((await runCommand(["env", "list"])).stdout).toContain("\tsite\t3\t");
    const log = await runCommand(["env", "build", "site", "--follow"]);
    expect(log.stdout).toContain("building");
    expect(log.stderr).toContain("READY");
    const [build] = (await runCommand(["env", "builds", environment_id, "-q"])).stdout.split("\n");
    expect((await runCommand(["env", "builds", "site", build as string])).stdout).toContain("READY");
    expect((await runCommand(["env", "log", "site"])).stdout).toContain("building");
    expect((await runCommand(["env", "shell", "site"], { input: "echo $A" })).stdout).toBe("1\n");
    expect((await runCommand(["env", "log", "site"])).stdout).toMatch(/✓ store · \d+ B · \d+/);
    const image = { reference: "node:24-bookworm", digest: `sha256:${"ab".repeat(32)}` };
    await installation.db`update builds set image = ${installation.db.json(image)} where build_id = ${build as string}`;
    expect((await runCommand(["env", "builds", "site", build as string])).stdout).toMatch(
      /^image +node:24-bookworm\n +sha256:(ab){32}$/m,
    );
    expect((await runCommand(["env", "builds", "site"])).stdout).toContain(
      "node:24-bookworm@sha256:abababababab",
    );
    await installation.db`update builds set image = null where build_id = ${build as string}`;
    expect((await runCommand(["env", "log", "site", "--json"])).json.build_id).toBe(build);
    expect((await runCommand(["skill", "list", "--json"])).json).toEqual({ skills: [] });
    const { run_id } = (await runCommand(["run", "RUN: true", "--env", "site", "--wait", "--json"])).json;
    const started = (await runCommand(["runs", "logs", run_id])).stdout;
    expect(started).toContain("✓ seq 12; echo starting\n  … 5 earlier lines (use --full to show all)\n  6\n");
    expect(started).toContain("  12\n  starting\n");
    expect((await runCommand(["runs", "logs", run_id, "--full"])).stdout).toContain("starting\n  1\n  2\n");
    const checkout = { sparse_paths: ["docs", "src"], submodules: false, lfs: false };
    const repos = [{ owner: "acme", repo: "api", ref: "main", ...checkout }];
    const input = JSON.stringify({ repos });
    expect((await runCommand(["env", "update", "site", "--input", "-"], { input })).stdout).toContain(
      "acme/api#main (only docs, src; no submodules; no Git LFS files)",
    );
    expect((await runCommand(["env", "get", "site", "--json"])).json).toMatchObject({ repos });
    await runCommand(["env", "delete", "site", "--yes"]);
    expect((await runCommand(["secret", "list"])).stdout).toMatch(/^TOKEN\t/);
    await runCommand(["secret", "delete", "TOKEN", "-y"]);
    expect((await runCommand(["secret", "list"])).stderr).toBe("No secrets.\n");
  });

  test("proposes settings for a repository or a folder", async () => {
    const origin = new Origin(folder, "lock");
    const commit = origin.push("main", { "package-lock.json": "{}", ".nvmrc": "22" });
    const url = `file://${origin.bare}`;
    const settings = {
      docker_image: "node:22-bookworm",
      setup_commands: ["npm ci"],
      network: { mode: "allowlist", allow: ["preset:npm"] },
    };
    expect((await runCommand(["env", "propose", url, "--json"])).json).toMatchObject({ commit, settings });
    const { stdout } = await cli(["env", "propose", origin.copy, "--server", "http://127.0.0.1:1"]);
    expect(stdout).toMatch(/^image +node:22-bookworm\nsetup +npm ci\nnetwork +allowlist preset:npm\nwhy +- /);
    const failed = await cli(["env", "propose", `${url}#nope`]);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("nope")]);

    const create = ["env", "create", "proposed", "--repo", url, "--propose", "--json"];
    expect((await cli(create)).stderr).toContain("Pass --yes");
    const created = await runCommand([...create, "--yes", "--setup", "make"]);
    expect(created.json).toMatchObject({ ...settings, setup_commands: ["make"] });
    expect(created.stderr).toContain("`.nvmrc` names Node.js 22");
    const terminal = cli.terminal(create);
    await terminal.waitForOutput("[Y/n]");
    expect(terminal.text()).toContain("  image         node:22-bookworm\n  setup         npm ci\n");
    terminal.type("n\r");
    expect((await terminal.ended).code).toBe(1);
    expect((await cli(["env", "list"])).stdout.match(/\tproposed\t/g)).toHaveLength(1);
  });

  test("connects, tests and disconnects a forge", async () => {
    const github = await startGitHubStub();
    try {
      await github.addRepository("acme/api");
      const { host } = new URL(github.url);
      const flags = ["--host", github.url, "--token-file", "-"];
      const refused = await cli(["connect", "github", ...flags], { input: "not-the-token" });
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining("`/token` was not accepted"),
      ]);
      const connected = await runCommand(["connect", "github", ...flags], { input: github.token });
      expect(connected.stdout).toBe(`Connected ${host} as octocat.\n`);
      expect(connected.stderr).toContain("Repositories:\n  acme/api\n");
      expect((await runCommand(["forges", "list"])).stdout).toContain(`\t${host}\tgithub\ttoken\toctocat\t`);
      const found = await runCommand(["forges", "repositories", host, "--search", "api"]);
      expect(found.stdout).toBe("acme/api\tmain\tpush\t\n");
      const tested = await runCommand(["forges", "test", host, "acme/api"]);
      expect(tested.stdout.match(/^✓ [a-z ]+: /gm)).toEqual([
        ...[
          "✓ authenticate: ",
          "✓ read repository: ",
          "✓ clone: ",
          "✓ push: ",
          "✓ pull request: ",
          "✓ clean up: ",
        ],
      ]);
      expect((await runCommand(["forges", "get", host])).stdout).toMatch(
        /^last test +passed .*\(acme\/api\)$/m,
      );
      await runCommand(["forges", "delete", host, "--yes"]);
      expect((await runCommand(["forges", "list"])).stderr).toContain("outrider connect github");
      expect(github.violations).toEqual([]);
    } finally {
      await github.close();
    }
  });

  test("creates, updates and deletes cloud agents and keys", async () => {
    const { uid } = (await runCommand(["agent", "create", "nightly", "--model", "scripted", "--json"])).json;
    await runCommand(["agent", "update", "nightly", "--description", "at night", "--harness", "codex"]);
    expect((await runCommand(["agent", "get", uid, "--json"])).json).toMatchObject({
      ...{ name: "nightly", model_id: "scripted", description: "at night", harness: "codex" },
    });
    expect((await runCommand(["agent", "list"])).stdout).toBe(`${uid}\tnightly\tscripted\tat night\n`);
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
    const made = await runCommand(["key", "create", "ci", ...flags]);
    const key = made.stdout.trim();
    expect(key).toMatch(/^ora_\w+$/);
    expect(made.stderr).not.toContain(key);
    const me = await cli(["me", "--json"], { environment: { OUTRIDER_API_KEY: key } });
    expect(me.json).toMatchObject({
      uid,
      key: { scopes: ["runs:read"], limits: { max_concurrent_runs: 2 } },
    });
    const { key_id } = me.json.key;
    expect((await runCommand(["key", "list"])).stdout).toContain(key_id);
    await runCommand(["key", "revoke", key_id, "--yes"]);
    expect((await cli(["me"], { environment: { OUTRIDER_API_KEY: key } })).code).toBe(3);
    await runCommand(["agent", "delete", "nightly", "--yes"]);
  });

  test("shows models, harnesses, workers and the current user", async () => {
    const harnesses = (await runCommand(["harness", "list"])).stdout;
    expect(harnesses).toMatch(/^outrider\tOutrider\t\tyes\tinstalled$/m);
    expect(harnesses).toMatch(/^claude\tClaude Code\t.*\tyes\t/m);
    const refused = await cli(["run", "hello", "--harness", "cobol"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(
      "is not a harness of this installation; available: `outrider`, `claude`",
    );
    expect((await runCommand(["model", "list"])).stdout).toContain("scripted\tdefault\t");
    expect((await runCommand(["me"])).stdout).toContain("admin");
    expect((await runCommand(["workers", "list"])).stdout).toContain("\tworker-1\talive\tdefault\t");
    const far = (
      await runCommand([...["run", "SAY: hi", "--worker-host", "far"], ...["--worker-selector", "gpu"], "-q"])
    ).stdout.trim();
    expect((await runCommand(["workers", "demand", "--pool", "far"])).stdout).toMatch(
      /^far\t1\t0\t0\t0\t0\t/m,
    );
    expect((await runCommand(["runs", "get", far])).stdout).toContain(
      "No connected worker of the pool `far` has the label `gpu=true`.",
    );
    await runCommand(["runs", "cancel", far]);
  });

  test("shows usage and load as a table and as CSV", async () => {
    const table = await runCommand(["usage", "--from", "2d", "--compare"]);
    expect(table.stdout.trim().split("\n")).toHaveLength(3);
    expect(table.stderr).toMatch(/runs? \(.*\), .* successful, \$/);
    expect((await runCommand(["usage", "--by", "model", "--csv"])).stdout).toMatch(
      /^key,label,runs,succeeded,/,
    );
    expect((await runCommand(["usage", "load", "--csv"])).stdout).toMatch(/^starts_at,queued,/);
    const usage = await runCommand(["usage", "--json", "--interval", "hour"]);
    expect(usage.json.points).toHaveLength(30);
  });

  test("rejects a worker with an unknown kind of sandboxes", async () => {
    for (const [args, OUTRIDER_SANDBOX] of [
      [["--sandbox", "nowhere"], "local"],
      [[], "nowhere"],
    ] as const) {
      const environment = { OUTRIDER_WORKER_KEY: "x", OUTRIDER_SANDBOX };
      const { code, stderr } = await cli(["worker", ...args], { environment });
      expect(code).not.toBe(0);
      expect(stderr).toContain('--sandbox must be local, not "nowhere".');
    }
  });

  test("shows the limits and retention of the installation", async () => {
    const { stdout } = await runCommand(["installation"]);
    expect(stdout).toMatch(/^accepts new runs +yes$/m);
    expect(stdout).toMatch(/^requests +\S+ per minute$/m);
    expect((await runCommand(["installation", "--json"])).json).toMatchObject({
      maintenance: { admission: "open" },
      limits: { queue_timeout_hours: 24 },
      retention: { runs: {} },
    });
  });

  test("starts and ends maintenance, and cancels runs by filter", async () => {
    await runCommand(["maintenance", "pause", "--queue", "--message", "back soon"]);
    expect((await runCommand(["maintenance", "status"])).stdout).toMatch(
      /^admission +paused\nqueue +paused\nmode +normal\n/,
    );
    expect((await cli(["run", "SAY: x"])).stderr).toContain("back soon");
    expect((await runCommand(["maintenance", "read-only", "--json"])).json.mode).toBe("read_only");
    expect((await runCommand(["maintenance", "end", "--quiet"])).stdout).toBe("open\n");
    const counted = await runCommand(["runs", "cancel", "--all", "--name", "unused", "--dry-run", "--json"]);
    expect(counted.json).toEqual({ cancelled: 0, remaining: 0 });
    expect((await runCommand(["runs", "cancel", "--all", "--name", "unused", "--yes"])).stdout).toBe(
      "Cancelled 0 runs.\n",
    );
    expect((await cli(["runs", "cancel", "--state", "QUEUED"])).code).toBe(2);
  });

  test("invites, updates and deletes users, and creates sign-in links", async () => {
    const invited = await runCommand(["users", "invite", "ada@example.com", "--name", "Ada"]);
    expect(invited.stdout).toMatch(/^http:\/\/\S+\/login#token=orl_\w{49}\n$/);
    expect(invited.stderr).not.toContain("orl_");
    expect((await runCommand(["users", "list"])).stdout).toContain("\tada@example.com\tAda\tmember\tnone");
    await runCommand(["users", "update", "Ada@Example.com", "--role", "admin", "--name", "Ada L."]);
    expect((await runCommand(["users", "list"])).stdout).toContain("\tada@example.com\tAda L.\tadmin\t");
    const link = (await runCommand(["users", "sign-in-link", "ada@example.com", "--json"])).json;
    expect(Object.keys(link).toSorted()).toEqual(["expires_at", "link"]);
    await runCommand(["users", "delete", "ada@example.com", "--yes"]);
    expect((await runCommand(["users", "list"])).stdout).not.toContain("ada@example.com");
    expect((await cli(["users", "sign-in-link", "ada@example.com"])).code).toBe(4);
  });

  test("calls any path of the API", async () => {
    const body = { name: "by hand", network: { mode: "none" } };
    const made = await runCommand(["api", "post", "/agent/environments", "--input", "-"], {
      input: JSON.stringify(body),
    });
    const path = `/agent/environments/${made.json.environment_id}`;
    const fields = ["-f", "name=by fields", "-F", 'network={"mode":"open"}'];
    expect((await runCommand(["api", "PUT", path, ...fields])).json).toMatchObject({
      version: 2,
      name: "by fields",
    });
    expect((await runCommand(["api", "get", "/agent/runs", "-f", "limit=1"])).json.runs).toHaveLength(1);
    expect((await runCommand(["api", "delete", path])).stdout).toBe("");
    const refused = await cli(["api", "get", "/me", "-H", `Authorization: Bearer ${installation.key}`]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
  });
});

test("drains a worker", async () => {
  const worker = await installation.workerProcess("to be drained");
  const all = (await runCommand(["workers", "list", "--json"])).json.workers as {
    worker_id: string;
    name: string;
  }[];
  const { worker_id } = all.find(({ name }) => name === "to be drained") as { worker_id: string };
  await runCommand(["workers", "drain", worker_id]);
  expect((await worker.ended).code).toBe(0);
});

describe("model providers", () => {
  const key = "sk-of-the-stub-0123456789";
  let stub: StubModel;
  beforeAll(async () => {
    stub = await startStubModel({ apiKey: key, models: ["tiny"] });
  });
  afterAll(() => stub?.close());

  test("are added with a key from stdin, tested, made the default and removed", async () => {
    const settings = ["--type", "openai-compatible", "--base-url", stub.baseUrl("chat"), "--model", "tiny"];
    const add = ["model", "add", "house", ...settings, "--key-file", "-"];
    const added = await runCommand(add, { input: `${key}\n` });
    expect(added.stdout).toContain("Connected house.");
    expect(added.stdout + added.stderr).not.toContain(key);
    expect((await runCommand(["model", "test", "house", "--model", "tiny", "--json"])).json).toMatchObject({
      ...{ ok: true, model_id: "house/tiny" },
    });
    expect((await runCommand(["model", "providers"])).stdout).toMatch(
      /^house\topenai-compatible\tstored\tyes\tpassed/m,
    );
    await runCommand(["model", "default", "house/tiny"]);
    expect((await runCommand(["model", "list"])).stdout).toContain("house/tiny\tdefault\t");
    const inUse = await cli(["model", "remove", "house", "--yes"]);
    expect([inUse.code, inUse.stderr]).toEqual([1, expect.stringContaining("default")]);
    await runCommand(["model", "default", "--automatic"]);
    await runCommand(["model", "remove", "house", "--yes"]);
    expect((await runCommand(["model", "providers"])).stdout).not.toContain("house");
  });

  test("report a key that the provider rejects", async () => {
    const settings = ["--type", "openai-compatible", "--base-url", stub.baseUrl("chat"), "--model", "tiny"];
    const wrong = { input: "sk-wrong-0123456789" };
    const added = await cli(["model", "add", "wrong", ...settings, "--key-file", "-"], wrong);
    expect(added.code).not.toBe(0);
    expect(added.stdout + added.stderr).toContain("rejected the API key");
    await runCommand(["model", "remove", "wrong", "--yes"]);
  });
});

test("the tests above cover every operation with its listed command", () => {
  expect([...covered].toSorted()).toEqual(Object.keys(operations).toSorted());
});
