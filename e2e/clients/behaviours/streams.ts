import type { Behaviour, Call } from "../behaviour.ts";
import type { Fault } from "../fault-proxy.ts";

/** Its log has seven events: created, claimed, started, a notice, two messages with what the first cost, and the end. */
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

const cuts: [name: string, faults: Fault[], requests: number][] = [
  // The last request of each is the one that is told with 204 that nothing is missing.
  ["ends when the run is final and everything was told", [], 2],
  ["goes on where it was cut", [{ kind: "cut_stream", after_events: 1, times: 6, path }], 8],
  [
    "that ended in its middle as if all were said goes on",
    [{ kind: "cut_stream", after_events: 2, clean: true, path }],
    3,
  ],
  [
    "that is refused for a while goes on",
    [
      { kind: "cut_stream", after_events: 3, path },
      { kind: "answer", status: 503, path },
    ],
    4,
  ],
  [
    "cut before its head goes on",
    [
      { kind: "cut_stream", after_events: 3, path },
      { kind: "cut", path },
    ],
    4,
  ],
];

/** Streams and waits. */
export const streams: Behaviour[] = [
  ...cuts.map(([words, faults, requests]) => ({
    name: `a stream ${words}`,
    before,
    faults,
    call: stream,
    expect: { value: seqs(1, 7), requests, idempotency_keys: 0 },
  })),
  {
    name: "a stream in which nothing is heard any more goes on with another connection",
    before,
    faults: [{ kind: "stall_stream", after_events: 2, path }],
    call: { ...stream, options: { timeout_ms: 400 } },
    expect: { value: seqs(1, 7), requests: 3, idempotency_keys: 0 },
  },
  {
    name: "a stream begins behind `after`",
    before,
    faults: [{ kind: "cut_stream", after_events: 1, path }],
    call: { ...stream, query: { after: 5 } },
    expect: { value: seqs(6, 7), requests: 3, idempotency_keys: 0 },
  },
  {
    name: "a stream behind the last event is empty",
    before,
    faults: [],
    call: { ...stream, query: { after: 7 } },
    expect: { value: [], requests: 1, idempotency_keys: 0 },
  },
  {
    name: "a stream that is left early asks for nothing more",
    before,
    faults: [],
    call: { ...stream, collect: 2 },
    expect: { value: seqs(1, 2), requests: 1, idempotency_keys: 0 },
  },
  {
    name: "a stream that never says anything is APIConnectionError",
    before,
    faults: [{ kind: "cut", times: 3, path }],
    call: { ...stream, options: { max_retries: 2 } },
    expect: { error: { class: "APIConnectionError" }, requests: 3, idempotency_keys: 0 },
  },
  {
    name: "a stream of an unknown run is NotFoundError",
    faults: [],
    call: { ...stream, args: ["00000000-0000-7000-8000-000000000000"] },
    expect: {
      error: { class: "NotFoundError", status: 404, code: "resource_not_found" },
      requests: 1,
      idempotency_keys: 0,
    },
  },
  {
    name: "events are listed over pages",
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
    name: "a wait ends with the question of a run that is blocked",
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
    name: "a wait that takes too long is WaitTimeoutError, and the run goes on",
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
    at_most_ms: 20_000,
  },
  {
    name: "create_and_wait gives the finished run, through a lost answer of each kind",
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
