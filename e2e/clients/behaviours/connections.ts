import type { Behaviour, Call } from "../behaviour.ts";

const models: Call = { resource: "models", method: "list", show: ["default_model_id"] };
const value = { default_model_id: "scripted" };

/** A creation that the server has done, but whose answer is lost in one way or another. */
const lost = [
  ["the connection was cut", { kind: "cut", forwarded: true }],
  ["a proxy answered 502 for", { kind: "answer", status: 502, forwarded: true }],
  ["the answer was cut in its middle", { kind: "cut_body", after_bytes: 12 }],
] as const;

/** Cut connections and slow answers. */
export const connections: Behaviour[] = [
  {
    name: "a connection cut before the server heard of the request is tried again",
    faults: [{ kind: "cut" }],
    call: models,
    expect: { value, requests: 2, idempotency_keys: 0 },
  },
  {
    name: "an answer cut in its middle is asked for again",
    faults: [{ kind: "cut_body", after_bytes: 10 }],
    call: models,
    expect: { value, requests: 2, idempotency_keys: 0 },
  },
  {
    name: "a connection that is always cut is APIConnectionError",
    faults: [{ kind: "cut", times: 3 }],
    call: models,
    expect: { error: { class: "APIConnectionError" }, requests: 3, idempotency_keys: 0 },
  },
  {
    name: "an answer that comes too late is APITimeoutError",
    faults: [{ kind: "delay", ms: 10_000 }],
    call: { ...models, options: { timeout_ms: 200, max_retries: 0 } },
    expect: { error: { class: "APITimeoutError" }, requests: 1, idempotency_keys: 0 },
    at_least_ms: 200,
    at_most_ms: 9_000,
  },
  {
    name: "the timeout is for each attempt, and a late answer is asked for again",
    faults: [{ kind: "delay", ms: 10_000 }],
    call: { ...models, options: { timeout_ms: 1_500 } },
    expect: { value, requests: 2, idempotency_keys: 0 },
    at_least_ms: 1_850,
    at_most_ms: 9_000,
  },
  ...lost.map(([words, fault]) => ({
    name: `a creation where ${words} the done work starts one run, with one key for all tries`,
    faults: [{ ...fault, times: 2 }],
    call: {
      resource: "runs",
      method: "create",
      body: { prompt: "SAY: once", metadata: { mark: "$unique.id" } },
      show: ["state"],
    },
    after: [
      {
        resource: "runs",
        method: "list",
        query: { metadata: { mark: "$unique.id" } },
        collect: 10,
        show: ["prompt"],
      },
    ],
    expect: {
      value: { state: "QUEUED" },
      requests: 3,
      idempotency_keys: 1,
      after: [[{ prompt: "SAY: once" }]],
    },
  })),
  {
    name: "a follow-up whose answer was lost is sent once",
    before: [{ resource: "runs", method: "create", body: { prompt: "SLEEP: 3000" }, save: "run" }],
    faults: [{ kind: "cut", forwarded: true }],
    call: {
      resource: "followups",
      method: "create",
      args: ["$run.run_id"],
      body: { message: "SAY: more", mode: "queue" },
    },
    after: [
      {
        resource: "followups",
        method: "list",
        args: ["$run.run_id"],
        save: "list",
        show: ["followups.length"],
      },
      { resource: "runs", method: "cancel", args: ["$run.run_id"], show: ["state"] },
    ],
    expect: {
      value: null,
      requests: 2,
      idempotency_keys: 1,
      after: [{ "followups.length": 1 }, { state: "CANCELLED" }],
    },
  },
  {
    name: "a key of the caller's own is sent as it is, and finds the first run again",
    before: [
      {
        resource: "runs",
        method: "create",
        body: { prompt: "SAY: mine", metadata: { mark: "$unique.id" } },
        options: { idempotency_key: "own-$unique.id" },
      },
    ],
    faults: [],
    call: {
      resource: "runs",
      method: "create",
      body: { prompt: "SAY: mine", metadata: { mark: "$unique.id" } },
      options: { idempotency_key: "own-$unique.id" },
      raw: true,
      show: ["status", "headers.idempotent-replayed"],
    },
    after: [
      {
        resource: "runs",
        method: "list",
        query: { metadata: { mark: "$unique.id" } },
        collect: 10,
        show: ["prompt"],
      },
    ],
    expect: {
      value: { status: 200, "headers.idempotent-replayed": "true" },
      requests: 1,
      idempotency_keys: 1,
      after: [[{ prompt: "SAY: mine" }]],
    },
  },
];
