import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentEvent } from "@outrider/agent/event";
import type { FileChange } from "@outrider/agent/workspace";
import { afterAll, expect, test } from "vitest";
import type { Profile } from "../../src/harnesses/acp/profile.ts";
import { claude } from "../../src/harnesses/acp/profiles/claude.ts";
import { readSessionUpdate } from "../../src/harnesses/acp/session-update.ts";
import { UpdateRecorder, type UpdateRecorderOptions } from "../../src/harnesses/acp/updates.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { ArtifactQuota } from "../../src/workspace/artifact-quota.ts";
import { CommandRecorder } from "../../src/workspace/command-recorder.ts";

const SECRET = "a-secret-of-the-run";
const folder = mkdtempSync(join(tmpdir(), "outrider-updates-"));

afterAll(() => rmSync(folder, { recursive: true }));

function createRecorder(options: { profile?: Profile; history?: UpdateRecorderOptions["history"] } = {}) {
  const redactor = new Redactor([SECRET]);
  const events: AgentEvent[] = [];
  const deltas: string[] = [];
  const changes: FileChange[] = [];
  const artifacts: string[] = [];
  const control = { enforced: false, reason: "" } as const;
  const enforced = { memory: control, pids: control } as never;
  const recorder = new UpdateRecorder({
    profile: options.profile ?? claude,
    history: options.history ?? [],
    io: {
      emit: async (event) => {
        const stored = { ...event, data: redactor.redactAll(event.data) } as AgentEvent;
        events.push(stored);
        return stored;
      },
      delta: (text) => deltas.push(text),
      files: {
        storeArtifact: async ({ name }) => artifacts.push(name).toString(),
        readArtifact: async () => Buffer.alloc(0),
        readAttachment: async () => Buffer.alloc(0),
      },
    },
    workspace: {
      redact: (text) => redactor.redactLines(text),
      listServiceChanges: async () => changes.splice(0),
      recordOutput: async (command) =>
        new CommandRecorder(
          {
            redactor,
            folder,
            quota: new ArtifactQuota(),
            emitNotice: () => {},
            storeArtifact: async (_, { name }) => artifacts.push(name).toString(),
            copyToSandbox: async () => undefined,
          },
          {
            ...command,
            sandbox: { enforced, limitEvents: async () => ({ oom_kills: 0, forks_refused: 0 }) },
          },
        ),
    },
  });
  const record = async (...updates: object[]) => {
    for (const update of updates) {
      const read = readSessionUpdate({ sessionId: "s", update });
      if (read) await recorder.record(read.update);
    }
  };
  return { recorder, record, events, deltas, changes, artifacts };
}

const chunk = (text: string, messageId?: string) => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
  messageId,
});
const thought = (text: string) => ({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });
const call = (fields: object) => ({ sessionUpdate: "tool_call", toolCallId: "t1", ...fields });
const callUpdate = (fields: object) => ({ ...call(fields), sessionUpdate: "tool_call_update" });
const bash = { claudeCode: { toolName: "Bash" } };
const usage = { sessionUpdate: "usage_update", used: 1, size: 2 };

/** The updates of Claude Code for a command, which it announces before the model has written the input. */
const command = (line: string) => [
  call({ title: "Terminal", kind: "execute", status: "pending", rawInput: {}, _meta: bash }),
  callUpdate({ title: line, rawInput: { command: line }, _meta: bash }),
  usage,
];
const output = (data: string) => callUpdate({ _meta: { terminal_output: { terminal_id: "t1", data } } });
const exit = (exit_code: number | null) =>
  callUpdate({
    status: exit_code === 0 ? "completed" : "failed",
    _meta: { ...bash, terminal_exit: { terminal_id: "t1", exit_code, signal: null } },
  });

test("chunks become one message, and messages and reasoning keep their order", async () => {
  const { recorder, record, events, deltas } = createRecorder();
  await record(thought("Let me "), thought("think."), chunk("Hel", "1"), chunk("lo", "1"), chunk("Bye", "2"));
  await recorder.end();
  expect(events).toEqual([
    { type: "reasoning", data: { text: "Let me think." } },
    { type: "message.agent", data: { text: "Hello" } },
    { type: "message.agent", data: { text: "Bye" } },
  ]);
  expect(deltas).toEqual(["Hel", "lo", "Bye"]);
  expect(recorder.lastMessage).toBe("Bye");
});

test("a command has its redacted output and its exit code, and then the files that changed", async () => {
  const { recorder, record, events, changes } = createRecorder();
  await record(chunk("I run it."), ...command("make"));
  expect(events.map(({ type }) => type)).toEqual(["message.agent", "command.started"]);
  changes.push({ path: "a.txt", kind: "created", patch: "+a" });
  // The secret arrives in two pieces.
  await record(output("Exit code 4\nfound a-secret-of"), output("-the-run\n"), exit(4));
  await recorder.end();
  expect(events.slice(1)).toEqual([
    { type: "command.started", data: { command_id: "call-1", command: "make" } },
    { type: "command.output", data: { command_id: "call-1", stream: "stdout", text: "found ***\n" } },
    {
      type: "command.finished",
      data: { command_id: "call-1", exit_code: 4, duration_ms: expect.any(Number) },
    },
    { type: "file.changed", data: { path: "a.txt", kind: "created", patch: "+a" } },
  ]);
});

test("a long output is stored as an artifact", async () => {
  const { record, events, artifacts } = createRecorder();
  await record(...command("seq"), output("line\n".repeat(50_000)), exit(0));
  const finished = events.find(({ type }) => type === "command.finished");
  expect(finished?.data).toMatchObject({ exit_code: 0, artifact_id: "1", omitted_bytes: 250_000 - 65_536 });
  expect(artifacts).toEqual(["call-1-output.log"]);
});

test("a command of a turn that was cancelled leaves no file", async () => {
  const { recorder, record } = createRecorder();
  await record(...command("seq"), output("line\n".repeat(50_000)));
  expect(readdirSync(folder)).toHaveLength(1);
  recorder.discard();
  expect(readdirSync(folder)).toEqual([]);
});

test("calls have new ids, also in later turns", async () => {
  const history = [{ type: "command.started" as const, data: { command_id: "call-7", command: "ls" } }];
  const { record, events } = createRecorder({ history });
  await record(...command("ls"));
  expect(events[0]?.data).toMatchObject({ command_id: "call-8" });
});

test("other tools have their input, output and images", async () => {
  const { record, events } = createRecorder();
  const meta = { claudeCode: { toolName: "mcp__docs__search" } };
  const image = { type: "image", data: Buffer.from("png").toString("base64"), mimeType: "image/png" };
  await record(
    call({ rawInput: { query: "x" }, status: "in_progress", _meta: meta }),
    callUpdate({
      status: "completed",
      content: [
        { type: "content", content: { type: "text", text: `found ${SECRET}` } },
        { type: "content", content: image },
      ],
    }),
    // Some agents continue to send updates.
    callUpdate({ status: "completed" }),
  );
  expect(events).toEqual([
    { type: "tool.called", data: { call_id: "call-1", tool: "docs__search", input: { query: "x" } } },
    {
      type: "tool.returned",
      data: {
        call_id: "call-1",
        tool: "docs__search",
        output: "found ***",
        images: [{ artifact_id: "1", mime_type: "image/png" }],
      },
    },
  ]);
});

test("calls that are still open at the end of the turn are closed", async () => {
  const { recorder, record, events } = createRecorder();
  await record(
    ...command("sleep 60"),
    call({ toolCallId: "t2", name: "Read", rawInput: { path: "a" }, status: "in_progress" }),
    // The model was stopped before it wrote the input.
    call({ toolCallId: "t3", name: "Write", rawInput: {}, status: "pending" }),
  );
  await recorder.end();
  expect(events).toEqual([
    { type: "command.started", data: { command_id: "call-1", command: "sleep 60" } },
    { type: "tool.called", data: { call_id: "call-2", tool: "Read", input: { path: "a" } } },
    { type: "command.finished", data: { command_id: "call-1", duration_ms: expect.any(Number) } },
    {
      type: "tool.returned",
      data: {
        call_id: "call-2",
        tool: "Read",
        output: "The call was stopped before it returned.",
        is_error: true,
      },
    },
  ]);
});

test("a plan has the states of its steps", async () => {
  const { record, events } = createRecorder();
  const entries = ["completed", "in_progress", "pending"].map((status) => ({ content: status, status }));
  await record({ sessionUpdate: "plan", entries });
  const steps = ["done", "active", "pending"].map((state, at) => ({ text: entries[at]?.content, state }));
  expect(events).toEqual([{ type: "plan.updated", data: { steps } }]);
});

test("endless messages, inputs, calls and events are bounded", async () => {
  const { recorder, record, events } = createRecorder();
  const text = "x".repeat(300_000);
  await record(...Array.from({ length: 5 }, () => chunk(text)));
  await record(call({ name: "Write", rawInput: { text }, status: "in_progress" }));
  expect(events[0]?.data).toEqual({ text: "x".repeat(2 ** 20) });
  expect(JSON.stringify(events[1]?.data).length).toBeLessThan(263_000);
  const open = Array.from({ length: 1_000 }, (_, id) => call({ toolCallId: `open-${id}` }));
  await expect(record(...open)).rejects.toThrow("more than 1000 unfinished tool calls");
  const plan = readSessionUpdate({ sessionId: "s", update: { sessionUpdate: "plan", entries: [] } });
  const flood = async () => {
    for (let count = 0; plan && count < 50_000; count++) await recorder.record(plan.update);
  };
  await expect(flood()).rejects.toThrow("The agent did more in one turn than the log can store.");
});
