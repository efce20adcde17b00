import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withoutOwnGuide } from "../../src/harnesses/agent-instructions.ts";
import { gatewayPort } from "../../src/workspace/gateway-forward.ts";
import { dataOf } from "../agent/agent-support.ts";
import { outputOf, startTestInstallation, type TestInstallation } from "../installation.ts";
import { mounts, node, respondAsMcp, startHttp } from "../mcp/mcp-support.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";

/** What other agents get from a run: instructions, MCP servers, skills and attachments. */

const program = "/opt/mcp/test-agent.mjs";
const source = fileURLToPath(new URL("./test-agent.mjs", import.meta.url));
const secret = "the-key-of-the-tracker-0123456789";

let installation: TestInstallation;
let temporary: ReturnType<typeof makeFolder>;
let folder: string;
let remote: Awaited<ReturnType<typeof startHttp>>;
let environment_id: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "outrider-harnesses-"));
  const file = join(folder, "harnesses.json");
  const declared = { command: [node, program], wire_formats: ["anthropic-messages"] };
  const harnesses = { bridged: { ...declared, supports_mcp_servers: true }, plain: declared };
  writeFileSync(file, JSON.stringify({ harnesses }));
  temporary = makeFolder();
  mkdirSync(join(temporary.folder, "acme"));
  const origin = new Origin(join(temporary.folder, "acme"), "tools");
  origin.push("main", {
    "AGENTS.md": "Use tabs.\n",
    "skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Deploys things.\n---\nDeploy carefully.\n",
  });
  remote = await startHttp((request, response) =>
    respondAsMcp(request, response, () => `key ${request.headers["x-key"]}`),
  );
  installation = await startTestInstallation({ OUTRIDER_HARNESSES: file });
  await installation.worker({
    mounts: [...mounts, { source, target: program }],
    repositoryPaths: [temporary.folder],
    allowedAddresses: "127.0.0.1",
  });
  const { body } = await installation.call("POST", "/agent/environments", {
    body: {
      name: "tools",
      repos: [{ url: `file://${origin.bare}` }],
      checks: [{ name: "lint", command: "lint {files}", globs: ["*.js"] }],
    },
  });
  environment_id = body.environment_id;
});
afterAll(async () => {
  await installation?.stop();
  remote?.stop();
  temporary?.remove();
  rmSync(folder, { recursive: true });
});

/** A command that calls a tool of the bridge. */
function callTool(server: string, name: string, args: object = {}): string {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: args },
  });
  const request = `{ method: "POST", headers: { "content-type": "application/json" }, body: ${JSON.stringify(body)} }`;
  const url = `http://127.0.0.1:${gatewayPort}/mcp/${server}`;
  return `RUN: ${node} -e 'fetch("${url}", ${request}).then((r) => r.text()).then(console.log)'`;
}

test("an agent gets instructions, MCP servers, skills and a tool that publishes changes", async () => {
  const script = [
    "RUN: cat ~/.test-agent/mcp-servers.json",
    callTool("tracker", "say"),
    callTool("outrider", "use_skill", { name: "deploy" }),
    callTool("outrider", "use_skill", { name: "deplo" }),
    callTool("outrider", "publish_changes", { title: "Nothing" }),
    callTool("outrider", "publish_changes", { title: "Nothing", body: "" }),
  ];
  const tracker = { url: remote.url, headers: { "x-key": secret } };
  const run = await installation.create(script, {
    config: { harness: "bridged", environment_id, base_prompt: "Arr.", mcp_servers: { tracker } },
  });
  const { receipt } = await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  const url = (name: string) => `http://127.0.0.1:${gatewayPort}/mcp/${name}`;
  const output = outputOf(events);
  expect(JSON.parse(output.split("event: ")[0] ?? "")).toEqual(
    ["tracker", "outrider"].map((name) => ({ type: "http", name, headers: [], url: url(name) })),
  );
  expect(output).toContain("key ***");
  expect(output).toContain("Deploy carefully.");
  expect(output).toContain('There is no skill \\"deplo\\". Similar names: \\"deploy\\".');
  expect(output).toContain("Pass a `title` and a `body`");
  expect(output).toContain("There is nothing to publish: no file differs");
  expect(remote.received.at(-1)?.headers["x-key"]).toBe(secret);
  expect(JSON.stringify(events)).not.toContain(secret);
  expect(receipt).toMatchObject({
    mcp_servers: [{ name: "tracker", transport: "http", tools: ["tracker__say"] }],
    skills_used: [{ skill_spec: "acme/tools:deploy" }],
  });
  const [{ instructions }] = dataOf(events, "run.started");
  for (const part of [
    ...["# How you are run", "Use tabs.", "- deploy: Deploys things.", "MCP server `outrider`", "Arr."],
    "- Checks to run after you edit files ({files} stands for the files): `lint {files}`.",
    "Your changes can be published as a draft pull request; publish them only if the user asks for it.",
    "and the tool `publish_changes` of the MCP server `outrider` also opens or updates the pull request.",
  ])
    expect(instructions).toContain(part);
  expect(instructions).not.toContain("# Tools");
});

test("an agent without MCP is told where skills are, and gets attachments", async () => {
  const data = Buffer.from("a plan").toString("base64");
  const run = await installation.create(
    ["RUN: cat ~/attachments/plan.txt ~/.test-agent/*-*-*.json ~/.test-agent/mcp-servers.json"],
    {
      config: { harness: "plain", environment_id },
      attachments: [{ file_name: "plan.txt", mime_type: "text/plain", data }],
    },
  );
  await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  const [{ instructions }] = dataOf(events, "run.started");
  expect(instructions).toContain("read the file SKILL.md in its folder of the repository");
  expect(instructions).toContain("`git push` pushes HEAD to the branch outrider/");
  expect(instructions).not.toContain("publish_changes");
  expect(outputOf(events)).toMatch(/^a plan.*\[\]$/s);
  expect(outputOf(events)).toContain("- /home/sandbox/attachments/plan.txt (text/plain, 6 bytes)");
});

test("Codex removes files without approval", async () => {
  const script = [
    "RUN: rm -rf a && echo one",
    'RUN: rm -rf -- "$(echo a)" && : > b && echo two',
    "RUN: /bin/rm -rf a",
  ];
  const run = await installation.create(script, { config: { harness: "codex" } });
  await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  expect(outputOf(events)).toBe("one\ntwo\n");
  expect(dataOf(events, "command.finished").map(({ exit_code }) => exit_code)).toEqual([0, 0, 0]);
});

test("the instructions omit a file that the agent reads by itself in its working folder", () => {
  const guide = (folder: string, name: string) => ({ folder, file: { name, text: "x", bytes: 1 }, more: [] });
  const agent = { readsGuides: ["CLAUDE.md" as const], hasBridge: true };
  const guides = [guide("/workspace/a", "CLAUDE.md"), guide("/workspace/b", "CLAUDE.md")];
  const omitted = (workingFolder: string, given = guides) =>
    withoutOwnGuide(given, { agent, workingFolder }).map(({ file }) => file === undefined);
  expect(omitted("/workspace/a")).toEqual([true, false]);
  expect(omitted("/workspace")).toEqual([false, false]);
  expect(omitted("/workspace/a", [guide("/workspace/a", "AGENTS.md")])).toEqual([false]);
});
