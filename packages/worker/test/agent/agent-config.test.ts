import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { outputOf } from "../installation.ts";
import { respondAsMcp, startHttp } from "../mcp/mcp-support.ts";
import {
  type AgentInstallation,
  call,
  dataOf,
  modelIds,
  resultsIn,
  startAgentInstallation,
} from "./agent-support.ts";

/** The effect of each configuration field on the model's input, the transcript and the run. */

let installation: AgentInstallation;
let shop: ReturnType<AgentInstallation["repository"]>;
let mcp: Awaited<ReturnType<typeof startHttp>>;
let environment_id: string;

const token = "mcp-token-0123456789abcdef";
const skill = "---\nname: stock-taking\ndescription: Counts.\n---\nCount every shelf twice.\n";
const base_prompt = "Answer in the words of a lighthouse keeper.";
const skill_spec = "acme/shop:stock-taking";
const servers = () => ({ stock: { url: mcp.url, headers: { Authorization: `Bearer ${token}` } } });

beforeAll(async () => {
  installation = await startAgentInstallation();
  mcp = await startHttp((request, response) => {
    respondAsMcp(request, response, () => "forty-two in the register");
  });
  await installation.agentWorker(mcp.port);
  shop = installation.repository("shop", {
    "shelf.txt": "seven jars\n",
    "AGENTS.md": "Jars are counted by hand.\n",
    "skills/count/SKILL.md": skill,
    "skills/count/form.txt": "a form to fill in\n",
  });
  environment_id = await installation.environment(shop, { variables: { AISLE: "nine" } });
});
afterAll(async () => {
  await installation?.stop();
  mcp?.stop();
});

/** Executes a run and returns everything that can be observed. */
async function seen(config: object, script: string[] = ["SAY: done"]) {
  const { run, requests: asked } = await installation.begin(script, { config });
  const item = await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  const requests = asked();
  return {
    run,
    item,
    events,
    requests,
    /** The first request, as sent over the wire. */
    sent: JSON.stringify(requests[0]?.body),
    tools: requests[0]?.parsed.tools.map(({ name }) => name),
    instructions: dataOf(events, "run.started")[0].instructions as string,
    transcript: (await installation.call("GET", `/agent/runs/${run}/transcript`, { accept: "text/markdown" }))
      .text,
  };
}

test("an empty configuration uses the default model and an empty workspace", async () => {
  const { item, sent, instructions, tools } = await seen({});
  expect(item.agent_config).toEqual({ model_id: modelIds.anthropic, idle_timeout_minutes: 10 });
  expect(item.receipt).toMatchObject({ model_id: modelIds.anthropic, network: { mode: "none" } });
  for (const member of ["environment", "repositories", "skill", "mcp_servers"])
    expect(item.receipt).not.toHaveProperty(member);
  for (const text of [sent, instructions]) {
    expect(text).toContain("You are a coding agent.");
    expect(text).toContain("It contains no repository.");
    expect(text).not.toMatch(/lighthouse|shelf|Jars|AISLE|server__tool/);
  }
  expect(tools).toContain("run_command");
  expect(tools?.filter((name) => name.includes("__"))).toEqual([]);
});

describe("name", () => {
  test("labels the run, its transcript and lists, and is not sent to the model", async () => {
    const { run, item, sent, transcript } = await seen({ name: "nightly-inventory" });
    expect(item.agent_config.name).toBe("nightly-inventory");
    expect(transcript).toContain(" · named nightly-inventory · ");
    for (const filter of ["name", "config_name"]) {
      const { body } = await installation.call("GET", `/agent/runs?${filter}=nightly-inventory`);
      expect(body.runs).toMatchObject([{ run_id: run }]);
    }
    expect(sent).not.toContain("nightly-inventory");
  });
});

describe("model_id", () => {
  test.each([
    ["anthropic/other-stub", "anthropic/other-stub"],
    ["other", "anthropic/other-stub"],
    ["google/gemini-unlisted-stub", "google/gemini-unlisted-stub"],
  ])("%s selects the model and appears in the transcript and the receipt", async (given, model_id) => {
    const { item, events, requests, transcript } = await seen({ model_id: given });
    expect(requests).toHaveLength(1);
    expect(requests[0]?.parsed.model).toBe(model_id.split("/")[1]);
    expect(dataOf(events, "run.started")).toMatchObject([{ model_id }]);
    expect(transcript).toContain(`model \`${model_id}\``);
    expect(item).toMatchObject({ agent_config: { model_id }, receipt: { model_id } });
    const { body } = await installation.call("GET", `/agent/runs?model_id=${model_id}&limit=100`);
    expect(body.runs.map(({ run_id }: { run_id: string }) => run_id)).toContain(item.run_id);
  });
});

describe("base_prompt", () => {
  test("is appended to the instructions of every call and appears in the transcript", async () => {
    const { item, requests, instructions } = await seen({ base_prompt }, ["RUN: true", "SAY: done"]);
    expect(requests).toHaveLength(2);
    for (const { body } of requests) {
      const system = body.system.map(({ text }: { text: string }) => text).join("");
      expect(system).toBe(instructions);
      expect(system.indexOf(base_prompt)).toBeGreaterThan(system.indexOf("You are a coding agent."));
    }
    expect(item.agent_config.base_prompt).toBe(base_prompt);
  });
});

describe("environment_id", () => {
  test("provides repository and variables, describes them to the model, and appears in the receipt", async () => {
    const { item, events, requests, sent, instructions } = await seen({ environment_id }, [
      "RUN: cat shelf.txt; echo $AISLE; git rev-parse HEAD",
    ]);
    const commit = shop.run("rev-parse", "HEAD");
    const output = `seven jars\nnine\n${commit}\n`;
    expect(outputOf(events)).toBe(output);
    expect(resultsIn(requests[1] as (typeof requests)[0])).toEqual([`${output}[exit code 0]`]);
    for (const text of [sent, instructions]) {
      expect(text).toContain(
        `/workspace/shop: ${shop.url}, on branch main, at commit ${commit.slice(0, 12)}`,
      );
      expect(text).toContain("Jars are counted by hand.");
      expect(text).toContain("set for you: AISLE.");
      expect(text).not.toContain("nine");
    }
    expect(dataOf(events, "environment.step").length).toBeGreaterThan(0);
    expect(item.agent_config.environment_id).toBe(environment_id);
    expect(item.receipt).toMatchObject({
      environment: { environment_id, version: 1, build_id: expect.any(String) },
      repositories: [{ url: shop.url, commit, path: "shop", ref: "refs/heads/main" }],
    });
  });
});

describe.concurrent("skill_spec", () => {
  test.each([skill_spec, "acme/shop:skills/count/SKILL.md"])(
    "%s is sent to the model, names the run, and its commit appears in the receipt",
    async (spec) => {
      const script = ["RUN: cat skills/count/form.txt"];
      const { item, events, sent, instructions } = await seen({ environment_id, skill_spec: spec }, script);
      for (const text of [sent, instructions]) {
        expect(text).toContain("# Skill: stock-taking");
        expect(text).toContain("Count every shelf twice.");
        expect(text).toContain("- form.txt");
      }
      expect(outputOf(events)).toBe("a form to fill in\n");
      expect(item.agent_config).toMatchObject({ skill_spec: spec, name: "stock-taking" });
      expect(item.receipt.skill).toEqual({
        skill_spec: spec,
        name: "stock-taking",
        repository: shop.url,
        commit: shop.run("rev-parse", "HEAD"),
        path: "skills/count/SKILL.md",
      });
    },
  );
});

describe("mcp_servers", () => {
  test("provide tools to the model and appear in the receipt with the tools' names", async () => {
    const { item, events, requests, tools, instructions } = await seen({ mcp_servers: servers() }, [
      call("stock__say", { about: "jars" }),
    ]);
    expect(tools).toContain("stock__say");
    expect(instructions).toContain("server__tool");
    expect(resultsIn(requests[1] as (typeof requests)[0])).toEqual(["forty-two in the register"]);
    const { headers, body } = mcp.received.at(-1) as (typeof mcp.received)[0];
    expect(headers.authorization).toBe(`Bearer ${token}`);
    expect(JSON.parse(body).params).toMatchObject({ name: "say", arguments: { about: "jars" } });
    expect(dataOf(events, "tool.called")).toMatchObject([{ tool: "stock__say", input: { about: "jars" } }]);
    expect(dataOf(events, "tool.returned")).toMatchObject([{ output: "forty-two in the register" }]);
    expect(item.receipt.mcp_servers).toEqual([
      { name: "stock", transport: "http", server: "test 1", tools: ["stock__say"] },
    ]);
    expect(item.agent_config.mcp_servers).toEqual({
      stock: { url: mcp.url, headers: { Authorization: "***" } },
    });
  });
});

describe.concurrent("all of them together", () => {
  test.each(Object.entries(modelIds))("work over the API of %s", async (_, model_id) => {
    const config = {
      name: "all six",
      model_id,
      base_prompt,
      environment_id,
      skill_spec,
      mcp_servers: servers(),
    };
    const { item, events, requests, sent, tools } = await seen(config, [
      "RUN: cat shelf.txt",
      call("stock__say", {}),
      "SAY: counted",
    ]);
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map(({ parsed }) => parsed.model))).toEqual(new Set([model_id.split("/")[1]]));
    for (const text of [
      base_prompt,
      "Count every shelf twice.",
      "Jars are counted by hand.",
      "/workspace/shop",
    ])
      expect(sent).toContain(text);
    expect(tools).toEqual(expect.arrayContaining(["run_command", "stock__say"]));
    const results = resultsIn(requests[2] as (typeof requests)[0]);
    expect(results[0]).toContain("seven jars");
    expect(results[1]).toContain("forty-two in the register");
    expect(JSON.stringify(requests.map(({ body }) => body))).not.toContain(token);

    expect(dataOf(events, "run.started")).toMatchObject([{ model_id }]);
    expect(dataOf(events, "message.agent").at(-1)).toEqual({ text: "counted" });
    expect(item.agent_config).toMatchObject({
      name: "all six",
      model_id,
      base_prompt,
      environment_id,
      skill_spec,
    });
    expect(item.receipt).toMatchObject({
      model_id,
      environment: { environment_id },
      repositories: [{ commit: shop.run("rev-parse", "HEAD") }],
      skill: { skill_spec, name: "stock-taking" },
      mcp_servers: [{ name: "stock", tools: ["stock__say"] }],
    });
  });
});
