import type { NewEvent } from "@outrider/contract/event";

const patch = `diff --git a/src/auth.ts b/src/auth.ts
--- a/src/auth.ts
+++ b/src/auth.ts
@@ -9,5 +9,6 @@ export function refresh(token: Token) {
   const now = Date.now();
-  if (token.exp < now) return null;
+  // Clocks of workers differ by up to five seconds.
+  if (token.exp + SKEW_MS < now) return null;
   return issue(token.sub);
 }
`;

/** One event of every kind. */
export const everyEvent: NewEvent[] = [
  { type: "environment.step", data: { name: "Check out acme/api", state: "started" } },
  { type: "environment.step", data: { name: "Check out acme/api", state: "finished" } },
  { type: "environment.step", data: { name: "pg_ctl start", state: "started" } },
  {
    type: "environment.step",
    data: {
      name: "pg_ctl start",
      state: "finished",
      output: "waiting for server to start\nserver started\n",
    },
  },
  { type: "run.started", data: { instructions: "Be brief.", model_id: "scripted" } },
  { type: "reasoning", data: { text: "The suite fails **now and then**, so time is involved." } },
  {
    type: "plan.updated",
    data: {
      steps: [
        { text: "Reproduce the failure", state: "done" },
        { text: "Find what depends on the clock", state: "active" },
        { text: "Run it fifty times", state: "pending" },
      ],
    },
  },
  {
    type: "message.agent",
    data: {
      text: `## What I found

The test compares \`exp\` with the worker's clock. With **5 s** of skew:

| part | before | after |
|---|---|---|
| token | expired | valid |

- [x] reproduced
- [ ] fixed, see [the report](https://example.com/report)

\`\`\`ts
const now: number = Date.now();
\`\`\`
`,
    },
  },
  { type: "command.started", data: { command_id: "c1", command: "pnpm vitest run" } },
  {
    type: "command.output",
    data: {
      command_id: "c1",
      stream: "stdout",
      text: "\u001b[1mRUN\u001b[0m \u001b[36mv5.1.0\u001b[0m /workspace/api\n\n \u001b[32m✓\u001b[0m auth.test.ts \u001b[2m(12 tests)\u001b[0m\n",
    },
  },
  {
    type: "command.output",
    data: {
      command_id: "c1",
      stream: "stderr",
      text: " \u001b[31m❯ session.test.ts (8 tests | 1 failed)\u001b[0m\n   × refreshes an expired token\n10 %\r50 %\r100 %\n",
    },
  },
  { type: "command.finished", data: { command_id: "c1", exit_code: 1, duration_ms: 4_100 } },
  { type: "command.started", data: { command_id: "c2", command: "git log -3 --oneline src/auth.ts" } },
  {
    type: "command.output",
    data: {
      command_id: "c2",
      stream: "stdout",
      text: ["a1 one", "b2 two", "c3 three", "d4 four", "e5 five"].join("\n"),
    },
  },
  { type: "command.finished", data: { command_id: "c2", exit_code: 0, duration_ms: 40 } },
  { type: "tool.called", data: { call_id: "t0", tool: "edit_file", input: { path: "src/auth.ts" } } },
  { type: "file.changed", data: { path: "src/auth.ts", kind: "modified", patch } },
  { type: "tool.returned", data: { call_id: "t0", tool: "edit_file", output: "Changed." } },
  { type: "tool.called", data: { call_id: "t1", tool: "tracker_search", input: { query: "flaky auth" } } },
  { type: "tool.returned", data: { call_id: "t1", tool: "tracker_search", output: '{"found": 3}' } },
  { type: "tool.called", data: { call_id: "t2", tool: "tracker_close", input: { id: 7 } } },
  {
    type: "tool.returned",
    data: {
      call_id: "t2",
      tool: "tracker_close",
      output: "Not allowed: closed by somebody else.",
      is_error: true,
    },
  },
  {
    type: "usage.updated",
    data: {
      ...{ input_tokens: 9_000, cached_input_tokens: 2_000, output_tokens: 400 },
      ...{ cost_usd: 0.02, steps: 3, run_seconds: 12 },
    },
  },
  { type: "compacted", data: { summary: "We look for a flaky test." } },
  { type: "notice", data: { message: "The model was busy; the call was made again." } },
  {
    type: "artifact.added",
    data: {
      artifact_id: "01990000-0000-7000-8000-000000000001",
      name: "report.html",
      mime_type: "text/html",
      size_bytes: 20_480,
    },
  },
];
