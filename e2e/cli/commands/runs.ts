import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cli, folder, installation, runCommand } from "./installation.ts";

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
});
