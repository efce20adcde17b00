import { afterEach, expect, test } from "vitest";
import { AgentConnection, type SessionOptions } from "../../src/harnesses/acp/connection.ts";
import type { SessionUpdate } from "../../src/harnesses/acp/session-update.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { startAgent } from "./acp-support.ts";

const { signal } = new AbortController();
const session: SessionOptions = { cwd: "/workspace", mcpServers: [], signal };
const prompt = [{ type: "text" as const, text: "Go" }];
const SECRET = "a-secret-of-the-run";
let connection: AgentConnection;

afterEach(async () => {
  await connection.close();
});

function connect(onMessage: string, atStart?: string): AgentConnection {
  const process = startAgent(onMessage, atStart);
  connection = new AgentConnection({ process, redactor: new Redactor([SECRET]) });
  return connection;
}

const textOf = (update: SessionUpdate) =>
  update.sessionUpdate === "agent_message_chunk" ? update.content.text : "";

test("a prompt resolves after all its updates were handled, one after the other", async () => {
  const agent = connect(`
    if (message.method === "session/new") respond({ sessionId: "s" });
    if (message.method === "session/prompt") { say("one"); say("two"); respond({ stopReason: "end_turn" }); }`);
  const { agentInfo } = await agent.initialize({ timeoutMs: 60_000, signal });
  expect(agentInfo).toEqual({ name: "test", version: "7" });
  const log: string[] = [];
  agent.onUpdate = async (update) => {
    log.push(`begin ${textOf(update)}`);
    await new Promise((resolve) => setImmediate(resolve));
    log.push(`end ${textOf(update)}`);
  };
  const id = await agent.newSession(session);
  expect(await agent.prompt(id, { prompt, signal })).toEqual({ stopReason: "end_turn" });
  expect(log).toEqual(["begin one", "end one", "begin two", "end two"]);
});

test("updates that repeat the history of a loaded session are dropped", async () => {
  const agent = connect(`
    if (message.method === "session/load") { say("old"); respond(null); }
    if (message.method === "session/prompt") { say("new"); respond({ stopReason: "end_turn" }); }`);
  const texts: unknown[] = [];
  agent.onUpdate = async (update) => void texts.push(textOf(update));
  await agent.loadSession("s", session);
  await agent.prompt("s", { prompt, signal });
  expect(texts).toEqual(["new"]);
});

test("updates that repeat the history after the session was loaded are dropped", async () => {
  const agent = connect(`
    if (message.method === "session/load") { respond(null); global.left = 3; }
    else if (global.left-- > 0) say("old");
    if (message.method.startsWith("_")) send({ id: message.id, error: { code: -32601, message: "Not found" } });
    if (message.method === "session/prompt") { say("new"); respond({ stopReason: "end_turn" }); }`);
  const texts: unknown[] = [];
  agent.onUpdate = async (update) => void texts.push(textOf(update));
  await agent.loadSession("s", { ...session, replaysLate: true });
  await agent.prompt("s", { prompt, signal });
  expect(texts).toEqual(["new"]);
});

test("permission is granted, and other requests are refused", async () => {
  const agent = connect(`
    if (message.method === "session/prompt") {
      send({ id: "ask", method: "session/request_permission", params: { sessionId: "s", toolCall: { toolCallId: "1" },
        options: [{ optionId: "no", name: "No", kind: "reject_once" }, { optionId: "once", name: "Once", kind: "allow_once" },
          { optionId: "always", name: "Always", kind: "allow_always" }] } });
      send({ id: "read", method: "fs/read_text_file", params: { sessionId: "s", path: "/etc/passwd" } });
      global.prompted = message.id;
    }
    if (message.id === "ask") say(JSON.stringify(message.result));
    if (message.id === "read") { say(String(message.error.code)); send({ id: prompted, result: { stopReason: "end_turn" } }); }`);
  const texts: unknown[] = [];
  agent.onUpdate = async (update) => void texts.push(textOf(update));
  await agent.prompt("s", { prompt, signal });
  expect(texts).toEqual([JSON.stringify({ outcome: { outcome: "selected", optionId: "always" } }), "-32601"]);
});

test("an agent that exits ends the connection with its exit code and its redacted stderr", async () => {
  const agent = connect(
    `if (message.method === "session/new") { console.error("no ${SECRET}"); process.exitCode = 3; process.stdin.destroy(); }`,
  );
  await expect(agent.newSession(session)).rejects.toThrow(
    "The connection to the agent ended. It exited with code 3. Last lines of its output: no ***",
  );
  expect((await agent.closed).message).toContain("code 3");
});

test("an error of the agent names what it could not do", async () => {
  const agent = connect(
    `send({ id: message.id, error: { code: -32000, message: "Nope", data: { details: "no such mode" } } });`,
  );
  const mode = agent.setMode("s", { modeId: "yolo", signal });
  await expect(mode).rejects.toThrow("The agent could not change to the mode yolo: Nope: no such mode");
});

test("requests end with the turn", async () => {
  const agent = connect("");
  const turn = new AbortController();
  const prompted = agent.prompt("s", { prompt, signal: turn.signal });
  turn.abort(new Error("cancelled"));
  await expect(prompted).rejects.toThrow("cancelled");
});

test("an agent that does not start in time is reported", async () => {
  const agent = connect("", "process.stdin.on = () => process.stdin; setInterval(() => {}, 1_000_000);");
  await expect(agent.initialize({ timeoutMs: 50, signal })).rejects.toThrow("The agent did not start within");
});

test("an error while an update is handled ends the prompt with that error", async () => {
  const agent = connect(`if (message.method === "session/prompt") say("x");`);
  const error = new Error("The lease is lost");
  agent.onUpdate = async () => {
    throw error;
  };
  await expect(agent.prompt("s", { prompt, signal })).rejects.toBe(error);
});

test.each([
  ["a long line", `write("x".repeat(17 * 2 ** 20))`, "sent a message of more than 16777216 bytes"],
  [
    "a deep message",
    `write("[".repeat(200) + "\\n")`,
    "sent a message that is nested deeper than 100 levels",
  ],
  [
    "a message with many values",
    `write("[" + "1,".repeat(200_000) + "1]\\n")`,
    "sent a message that contains more than 100000 values",
  ],
  [
    "many requests",
    `for (let id = 0; id < 500; id++) write(JSON.stringify({ jsonrpc: "2.0", id, method: "session/request_permission",
       params: { sessionId: "s", toolCall: { toolCallId: "1" }, options: [] } }) + "\\n"); process.stdin.pause()`,
    undefined,
  ],
  [
    "output that is no message",
    `write(("noise".repeat(1_000) + "\\n").repeat(1_000))`,
    "bytes that are not messages",
  ],
])("%s does no harm", async (_, program, problem) => {
  const agent = connect(
    `if (message.method === "session/prompt") { ${program}; respond({ stopReason: "end_turn" }); }`,
  );
  const end = agent.prompt("s", { prompt, signal });
  if (problem === undefined) expect(await end).toEqual({ stopReason: "end_turn" });
  else await expect(end).rejects.toThrow(problem);
});

test("malformed messages and responses to unknown requests are skipped", async () => {
  const agent = connect(`
    if (message.method !== "session/prompt") return;
    for (const value of [null, 1, [], {}, { id: 999, result: 1 }, { id: {}, method: "x" }, { method: "session/update" },
      { method: "session/update", params: { sessionId: "s", update: { sessionUpdate: "unknown" } } },
      { method: "session/update", params: { sessionId: "s", update: { sessionUpdate: "tool_call", toolCallId: 7 } } }])
      write(JSON.stringify(value && typeof value === "object" && !Array.isArray(value) ? { jsonrpc: "2.0", ...value } : value) + "\\n");
    respond({ stopReason: "end_turn" });`);
  const updates: SessionUpdate[] = [];
  agent.onUpdate = async (update) => void updates.push(update);
  expect(await agent.prompt("s", { prompt, signal })).toEqual({ stopReason: "end_turn" });
  expect(updates).toEqual([]);
});
