import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Conversation } from "@outrider/agent/conversation/conversation";
import type { LogEvent } from "@outrider/agent/event";
import { callModel } from "@outrider/agent/models/model-call";
import { openModel } from "@outrider/agent/models/open-model";
import { replayKey } from "@outrider/agent/models/replay";
import { builtinTools } from "@outrider/agent/tools/builtin";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type StubModel, startStubModel } from "../../../agent/test/stub-model/server.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";
import { respondAsMcp, startHttp } from "../mcp/mcp-support.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";

/** The model reads the same conversation in a live run and in a run that is resumed from the event log. */

const secret = "s3cr3t-0123456789-abcdef";
const never = new AbortController().signal;

let installation: TestInstallation;
let stub: StubModel;
let mcp: Awaited<ReturnType<typeof startHttp>>;
let temporary: ReturnType<typeof makeFolder>;
let environment_id: string;

beforeAll(async () => {
  temporary = makeFolder();
  stub = await startStubModel();
  mcp = await startHttp((request, response) => {
    if (request.body.includes('"fail":true')) return response.writeHead(500).end(`It needs ${secret}.`);
    return void respondAsMcp(
      request,
      response,
      (input) => `Received ${JSON.stringify(input)} with ${secret}.`,
    );
  });
  const models = join(temporary.folder, "models.json");
  const house = { type: "openai-compatible", base_url: stub.baseUrl("chat") };
  writeFileSync(models, JSON.stringify({ default_model_id: "house/stub", providers: { house } }));
  mkdirSync(join(temporary.folder, "acme"));
  new Origin(join(temporary.folder, "acme"), "shared").push("main", {
    "skills/deploy/SKILL.md": `---\nname: deploy\ndescription: Deploys.\n---\nThe password is ${secret}.\n`,
  });
  installation = await startTestInstallation({
    OUTRIDER_MODELS: models,
    OUTRIDER_GIT_HOST: `file://${temporary.folder}`,
  });
  await installation.worker({
    repositoryPaths: [temporary.folder],
    allowedAddresses: `127.0.0.1:${mcp.port}`,
  });
  await installation.call("PUT", "/agent/secrets/TOKEN", { body: { value: secret } });
  const { body } = await installation.call("POST", "/agent/environments", {
    body: { name: "secrets", secrets: ["TOKEN"] },
  });
  environment_id = body.environment_id;
});
afterAll(async () => {
  await installation?.stop();
  await stub?.close();
  mcp?.stop();
  temporary?.remove();
});

interface Message {
  role: string;
  content: unknown;
}

/**
 * The messages of each request that the stub model received, oldest first. The arguments of calls are parsed, because
 * the database does not preserve the order of keys.
 */
const requestedMessages = (): Message[][] =>
  stub.requests.map(({ body }) =>
    JSON.parse(JSON.stringify((body as { messages: Message[] }).messages), (key, value) =>
      key === "arguments" ? JSON.parse(value) : value,
    ),
  );

/** Sends the messages that a run would send if it were resumed from these events, and returns them as received. */
async function resumedMessages(history: LogEvent[]): Promise<Message[] | undefined> {
  const conversation = new Conversation(history);
  const model = await openModel({
    provider: "openai-compatible",
    model_id: "house/stub",
    name: "stub",
    base_url: stub.baseUrl("chat"),
    context_tokens: 200_000,
    supports_images: false,
  });
  await callModel({
    model,
    instructions: conversation.started?.instructions ?? "",
    messages: conversation.toMessages(new Map(), replayKey(model)),
    tools: builtinTools,
    mayCallTools: true,
    signal: never,
    delta: () => {},
  });
  return requestedMessages().at(-1);
}

test("the request after a command that prints a secret contains the mask", async () => {
  stub.requests.length = 0;
  const run = await installation.create(['RUN: echo "it is $TOKEN"', "SAY: done"], {
    config: { environment_id },
  });
  await installation.until(run, "SUCCEEDED");
  const [first, second] = requestedMessages().map((messages) => JSON.stringify(messages));
  expect(first).not.toContain("***");
  expect(second).toContain("it is ***");
  expect(second).not.toContain(secret);
});

test("every request equals the one that a resumed run would send", async () => {
  stub.requests.length = 0;
  const script = [
    `THINK: Is it ${secret}?`,
    `SAY: I know that it is ${secret}.`,
    'RUN: echo "$TOKEN"; echo "$TOKEN" | base64',
    `CALL: write_file {"path": "a.txt", "text": "one ${secret}\\n"}`,
    "THINK: Now I read it.",
    'CALL: read_file {"path": "a.txt"}',
    'CALL: search_files {"pattern": "one"}',
    'CALL: edit_file {"path": "a.txt", "edits": [{"old_text": "one  s3cr3t", "new_text": "two"}]}',
    `CALL: read_file {"path": "${secret}.txt"}`,
    `CALL: tools__say {"${secret}": ["${secret}"]}`,
    'CALL: tools__say {"fail": true}',
    `CALL: run_command {"command": "echo ${secret}", "background": true}`,
    'CALL: read_output {"command_id": "bg-call-9", "wait_ms": 30000}',
    `CALL: no_such_tool {"value": "${secret}"}`,
    `SAY: It was ${secret}.`,
  ];
  const mcp_servers = { tools: { url: mcp.url, headers: { Authorization: "plain" } } };
  const config = { environment_id, mcp_servers, skill_spec: "acme/shared:deploy" };
  const run = await installation.create(script, { config });
  await installation.until(run, "SUCCEEDED");
  stub.fail({ type: "status", status: 400, message: `Not with ${secret}.` });
  await installation.followUp(run, [`RUN: echo first ${secret}`]);
  await installation.until(run, "FAILED");
  await installation.followUp(run, [`RUN: echo second ${secret}`, "SAY: done"]);
  await installation.until(run, "SUCCEEDED");

  // Workers also receive the private data of events.
  const events = await installation.db<LogEvent[]>`
    select seq, type, data, private from events where run_id = ${run} order by seq`;
  const live = requestedMessages();
  const calls = events.flatMap(({ type }, index) => (type === "usage.updated" ? [index] : []));
  expect(live).toHaveLength(calls.length);
  for (const [number, usage] of calls.entries()) {
    // The text of a call precedes its usage.
    const own = events.slice(0, usage).findLastIndex(({ type }) => !/^(reasoning|message.agent)$/.test(type));
    expect(await resumedMessages(events.slice(0, own + 1)), `call ${number}`).toEqual(live[number]);
  }
  const written = live.at(-1)?.filter(({ role }) => role !== "user");
  expect(JSON.stringify(written)).toContain("The password is ***.");
  for (const text of [
    "Is it ***?",
    "Now I read it.",
    "I know that it is ***.",
    "It needs ***.",
    "Received",
    "***.txt does not exist",
  ])
    expect(JSON.stringify(written)).toContain(text);
  expect(JSON.stringify(written)).not.toContain(secret);
  const own = events.filter(({ type }) => !/^(run.created|message.user)$/.test(type));
  expect(JSON.stringify(own)).not.toContain(secret);
});
