/**
 * A small agent that speaks ACP, for tests: it calls its model through the gateway until the model calls no more tools. Its
 * only tool is bash. It stores its sessions in the home and can load them.
 *
 * Variables: NO_LOAD makes sessions impossible to load, IGNORE_CANCEL makes it ignore requests to stop, STOP_REASON is why
 * it stops at the end.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";

const { ANTHROPIC_BASE_URL, OUTRIDER_MODEL, NO_LOAD, IGNORE_CANCEL, STOP_REASON = "end_turn" } = process.env;
const folder = `${homedir()}/.test-agent`;
const sessions = new Map();

const tools = [
  {
    name: "bash",
    input_schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  },
];

function save({ id, messages }) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${id}.json`, JSON.stringify(messages));
}

async function callModel(messages, signal) {
  const response = await fetch(`${ANTHROPIC_BASE_URL}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "outrider" },
    body: JSON.stringify({ model: OUTRIDER_MODEL, max_tokens: 1000, messages, tools }),
    signal,
  });
  const body = await response.json();
  if (!response.ok) throw new RequestError(-32000, body.error?.message ?? "The model call failed.");
  return body.content;
}

function run(command, { signal, onOutput }) {
  return new Promise((resolve) => {
    const child = spawn("bash", ["-c", command], { stdio: ["ignore", "pipe", "pipe"], detached: true });
    const kill = () => process.kill(-child.pid, "SIGKILL");
    signal.addEventListener("abort", kill);
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => onOutput(String(data)));
    child.on("close", (code) => {
      signal.removeEventListener("abort", kill);
      resolve(code);
    });
  });
}

const stoppedResult = (id) => ({ type: "tool_result", tool_use_id: id, content: "Stopped." });

async function runTool({ id, input }, { update, signal }) {
  await update({
    sessionUpdate: "tool_call",
    toolCallId: id,
    title: "bash",
    kind: "execute",
    status: "in_progress",
    rawInput: input,
  });
  let output = "";
  const code = await run(input.command, {
    signal,
    onOutput(data) {
      output += data;
      void update({
        sessionUpdate: "tool_call_update",
        toolCallId: id,
        _meta: { terminal_output: { data, terminal_id: id } },
      });
    },
  });
  if (signal.aborted) return stoppedResult(id);
  await update({
    sessionUpdate: "tool_call_update",
    toolCallId: id,
    status: "completed",
    _meta: { terminal_exit: { exit_code: code, signal: null, terminal_id: id } },
  });
  return { type: "tool_result", tool_use_id: id, content: output || "(no output)" };
}

async function answer(session, { update, signal }) {
  for (;;) {
    const content = await callModel(session.messages, signal);
    session.messages.push({ role: "assistant", content });
    save(session);
    const results = [];
    for (const block of content) {
      if (block.type === "text")
        await update({
          sessionUpdate: "agent_message_chunk",
          content: { type: "text", text: block.text },
        });
      if (block.type === "tool_use") results.push(await runTool(block, { update, signal }));
    }
    if (results.length > 0) session.messages.push({ role: "user", content: results });
    save(session);
    if (results.length === 0 || signal.aborted) return;
  }
}

const app = agent({ name: "test-agent" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentInfo: { name: "test-agent", version: "1.2.3" },
    agentCapabilities: { loadSession: NO_LOAD === undefined, promptCapabilities: { image: false } },
  }))
  .onRequest(methods.agent.session.new, ({ params: { mcpServers } }) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/mcp-servers.json`, JSON.stringify(mcpServers));
    const session = { id: randomUUID(), messages: [] };
    sessions.set(session.id, session);
    return { sessionId: session.id };
  })
  .onRequest(methods.agent.session.load, async ({ params: { sessionId }, client }) => {
    const messages = JSON.parse(readFileSync(`${folder}/${sessionId}.json`, "utf8"));
    const stopped = messages.at(-1)?.content.filter(({ type }) => type === "tool_use") ?? [];
    if (stopped.length > 0)
      messages.push({ role: "user", content: stopped.map(({ id }) => stoppedResult(id)) });
    sessions.set(sessionId, { id: sessionId, messages });
    for (const { role, content } of messages) {
      for (const { type, text } of content) {
        if (type !== "text") continue;
        const sessionUpdate = role === "user" ? "user_message_chunk" : "agent_message_chunk";
        await client.notify(methods.client.session.update, {
          sessionId,
          update: { sessionUpdate, content: { type, text } },
        });
      }
    }
    return {};
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    const session = sessions.get(sessionId);
    session.controller = new AbortController();
    const { signal } = session.controller;
    const update = (update) => client.notify(methods.client.session.update, { sessionId, update });
    session.messages.push({ role: "user", content: prompt });
    save(session);
    try {
      await answer(session, { update, signal });
      return { stopReason: signal.aborted ? "cancelled" : STOP_REASON };
    } catch (error) {
      if (signal.aborted) return { stopReason: "cancelled" };
      throw error;
    }
  })
  .onNotification(methods.agent.session.cancel, ({ params: { sessionId } }) => {
    if (IGNORE_CANCEL === undefined) sessions.get(sessionId)?.controller?.abort();
  });

app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
process.stdin.on("end", () => process.exit(0));
