import type { Behaviour } from "./behaviour.ts";

const prompt = { prompt: "SAY: hello" };

/** What every client does, whatever its language. Each line is played against the real server behind the fault proxy. */
export const behaviours: Behaviour[] = [
  {
    name: "a creation that the server did but could not answer for is repeated with the same key and starts one run",
    faults: [{ kind: "cut", forwarded: true, times: 2 }],
    call: { resource: "runs", method: "create", body: { ...prompt, title: "once" }, show: ["state"] },
    after: [{ resource: "runs", method: "list", query: { q: "once" }, collect: 10, show: ["title"] }],
    expect: {
      value: { state: "QUEUED" },
      requests: 3,
      idempotency_keys: 1,
      after: [[{ title: "once" }]],
    },
  },
  {
    name: "an unknown run is NotFoundError and not tried again",
    faults: [],
    call: { resource: "runs", method: "get", args: ["00000000-0000-7000-8000-000000000000"] },
    expect: {
      error: { class: "NotFoundError", status: 404, code: "resource_not_found" },
      requests: 1,
      idempotency_keys: 0,
    },
  },
  {
    name: "Retry-After in seconds is obeyed",
    faults: [{ kind: "answer", status: 429, headers: { "retry-after": "1" } }],
    call: { resource: "models", method: "list", show: ["default_model_id"] },
    expect: { value: { default_model_id: "scripted" }, requests: 2, idempotency_keys: 0 },
    at_least_ms: 1000,
  },
];
