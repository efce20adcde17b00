import type { Behavior, Call } from "../behavior.ts";

const models: Call = { resource: "models", method: "list", show: ["default_model_id"] };
const value = { default_model_id: "scripted" };

/** Ways to lose the response to a create call that the server has completed. */
const lost = [
  ["the connection is lost", { kind: "cut", forwarded: true }],
  ["a proxy responds with 502", { kind: "answer", status: 502, forwarded: true }],
  ["the response is incomplete", { kind: "cut_body", after_bytes: 12 }],
] as const;

/** Lost connections and slow responses. */
export const connections: Behavior[] = [
  {
    name: "retries when the connection is lost before the request arrives",
    faults: [{ kind: "cut" }],
    call: models,
    expect: { value, requests: 2, idempotency_keys: 0 },
  },
  {
    name: "retries when the connection is lost in the middle of a response",
    faults: [{ kind: "cut_body", after_bytes: 10 }],
    call: models,
    expect: { value, requests: 2, idempotency_keys: 0 },
  },
  {
    name: "raises APIConnectionError when every connection is lost",
    faults: [{ kind: "cut", times: 3 }],
    call: models,
    expect: { error: { class: "APIConnectionError" }, requests: 3, idempotency_keys: 0 },
  },
  {
    name: "raises APITimeoutError when the response is late",
    faults: [{ kind: "delay", ms: 60_000 }],
    call: { ...models, options: { timeout_ms: 200, max_retries: 0 } },
    expect: { error: { class: "APITimeoutError" }, requests: 1, idempotency_keys: 0 },
    at_least_ms: 200,
  },
  {
    name: "applies the timeout to each attempt and retries",
    faults: [{ kind: "delay", ms: 60_000 }],
    call: { ...models, options: { timeout_ms: 5_000 } },
    expect: { value, requests: 2, idempotency_keys: 0 },
    at_least_ms: 5_350,
  },
  ...lost.map(([cause, fault]) => ({
    name: `a create call starts one run and reuses its idempotency key when ${cause}`,
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
    name: "creates one follow-up when the response is lost",
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
    name: "sends a custom idempotency key and gets the first run",
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
