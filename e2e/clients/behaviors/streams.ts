import type { Behavior, Call } from "../behavior.ts";
import type { Fault } from "../fault-proxy.ts";

/** A run with seven events: created, claimed, started, a notice, two messages with a usage update, and the end. */
const before: Call[] = [
  { resource: "runs", method: "create_and_wait", body: { prompt: "SAY: one\nSAY: two" }, save: "run" },
];
const seqs = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ seq: from + index }));
const stream: Call = {
  resource: "runs",
  method: "stream",
  args: ["$run.run_id"],
  collect: 1_000,
  show: ["seq"],
};
const path = "/events";

const interruptions: [name: string, faults: Fault[], requests: number][] = [
  // The last request gets 204, because there are no further events.
  ["ends after the last event of a finished run", [], 2],
  ["resumes after a lost connection", [{ kind: "cut_stream", after_events: 1, times: 6, path }], 8],
  ["that ends early resumes", [{ kind: "cut_stream", after_events: 2, clean: true, path }], 3],
  [
    "that is rejected for a while resumes",
    [
      { kind: "cut_stream", after_events: 3, path },
      { kind: "answer", status: 503, path },
    ],
    4,
  ],
  [
    "closed before its headers resumes",
    [
      { kind: "cut_stream", after_events: 3, path },
      { kind: "cut", path },
    ],
    4,
  ],
];

/** Streaming and waiting. */
export const streams: Behavior[] = [
  ...interruptions.map(([detail, faults, requests]) => ({
    name: `a stream ${detail}`,
    before,
    faults,
    call: stream,
    expect: { value: seqs(1, 7), requests, idempotency_keys: 0 },
  })),
  {
    name: "a silent stream reconnects",
    before,
    faults: [{ kind: "stall_stream", after_events: 2, path }],
    call: { ...stream, options: { timeout_ms: 3_000 } },
    expect: { value: seqs(1, 7), requests: 3, idempotency_keys: 0 },
  },
  {
    name: "a stream starts after `after`",
    before,
    faults: [{ kind: "cut_stream", after_events: 1, path }],
    call: { ...stream, query: { after: 5 } },
    expect: { value: seqs(6, 7), requests: 3, idempotency_keys: 0 },
  },
  {
    name: "a stream after the last event is empty",
    before,
    faults: [],
    call: { ...stream, query: { after: 7 } },
    expect: { value: [], requests: 1, idempotency_keys: 0 },
  },
  {
    name: "a stream that is left early sends no more requests",
    before,
    faults: [],
    call: { ...stream, collect: 2 },
    expect: { value: seqs(1, 2), requests: 1, idempotency_keys: 0 },
  },
  {
    name: "a stream without any event raises APIConnectionError",
    before,
    faults: [{ kind: "cut", times: 3, path }],
    call: { ...stream, options: { max_retries: 2 } },
    expect: { error: { class: "APIConnectionError" }, requests: 3, idempotency_keys: 0 },
  },
  {
    name: "a stream of an unknown run raises NotFoundError",
    faults: [],
    call: { ...stream, args: ["00000000-0000-7000-8000-000000000000"] },
    expect: {
      error: { class: "NotFoundError", status: 404, code: "resource_not_found" },
      requests: 1,
      idempotency_keys: 0,
    },
  },
  {
    name: "lists events over several pages",
    before,
    faults: [],
    call: {
      resource: "events",
      method: "list",
      args: ["$run.run_id"],
      query: { limit: 3 },
      collect: 1_000,
      show: ["seq"],
    },
    expect: { value: seqs(1, 7), requests: 3, idempotency_keys: 0 },
  },
  {
    name: "a wait returns when the run is blocked",
    before: [{ resource: "runs", method: "create", body: { prompt: "ASK: which?" }, save: "run" }],
    faults: [],
    call: {
      resource: "runs",
      method: "wait",
      args: ["$run.run_id"],
      show: ["state", "status_message.message"],
    },
    expect: {
      value: { state: "BLOCKED", "status_message.message": "which?" },
      requests: -1,
      idempotency_keys: 0,
    },
  },
  {
    name: "a wait that takes too long raises WaitTimeoutError, and the run continues",
    before: [{ resource: "runs", method: "create", body: { prompt: "SLEEP: 60000" }, save: "run" }],
    faults: [],
    call: { resource: "runs", method: "wait", args: ["$run.run_id"], options: { timeout_ms: 600 } },
    after: [{ resource: "runs", method: "cancel", args: ["$run.run_id"], show: ["state"] }],
    expect: {
      error: { class: "WaitTimeoutError" },
      requests: -1,
      idempotency_keys: 0,
      after: [{ state: "CANCELLED" }],
    },
    at_least_ms: 600,
  },
  {
    name: "create_and_wait returns the finished run after lost responses",
    faults: [
      { kind: "cut", forwarded: true, method: "POST" },
      { kind: "cut_body", after_bytes: 5, method: "GET" },
    ],
    call: {
      resource: "runs",
      method: "create_and_wait",
      body: { prompt: "SAY: both" },
      show: ["state", "prompt"],
    },
    expect: { value: { state: "SUCCEEDED", prompt: "SAY: both" }, requests: -1, idempotency_keys: 1 },
  },
];
