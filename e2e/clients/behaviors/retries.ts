import type { Behavior, Call } from "../behavior.ts";

const models: Call = { resource: "models", method: "list", show: ["default_model_id"] };
const value = { default_model_id: "scripted" };
const answer = (status: number, headers: Record<string, string> = {}) =>
  ({ kind: "answer", status, headers }) as const;

const retried = { value, requests: 2, idempotency_keys: 0 };
const failsImmediately = (status: number, name: string) => ({
  error: { class: name, status },
  requests: 1,
  idempotency_keys: 0,
});

/** Which responses are retried, and when. */
export const retries: Behavior[] = [
  ...[408, 429, 500, 502, 503, 504, 599].map((status) => ({
    name: `${status} is retried`,
    faults: [answer(status)],
    call: models,
    expect: retried,
    at_least_ms: 350,
  })),
  ...(
    [
      [400, "BadRequestError"],
      [401, "AuthenticationError"],
      [403, "PermissionDeniedError"],
      [404, "NotFoundError"],
      [405, "APIStatusError"],
      [409, "ConflictError"],
      [413, "APIStatusError"],
      [418, "APIStatusError"],
      [422, "UnprocessableEntityError"],
    ] as const
  ).map(([status, name]) => ({
    name: `${status} raises ${name} immediately`,
    faults: [answer(status)],
    call: models,
    expect: failsImmediately(status, name),
  })),
  ...[400, 404, 409, 422].map((status) => ({
    name: `${status} with x-should-retry: true is retried`,
    faults: [answer(status, { "x-should-retry": "true" })],
    call: models,
    expect: retried,
  })),
  ...(
    [
      [408, "APIStatusError"],
      [429, "RateLimitError"],
      [500, "InternalServerError"],
      [503, "InternalServerError"],
    ] as const
  ).map(([status, name]) => ({
    name: `${status} with x-should-retry: false raises ${name} immediately`,
    faults: [answer(status, { "x-should-retry": "false", "retry-after": "0" })],
    call: models,
    expect: failsImmediately(status, name),
  })),
  {
    name: "raises the last error after two retries",
    faults: [answer(500), answer(502), answer(503)],
    call: models,
    expect: { error: { class: "InternalServerError", status: 503 }, requests: 3, idempotency_keys: 0 },
    at_least_ms: 1_000,
  },
  {
    name: "a call without retries makes one attempt",
    faults: [answer(503)],
    call: { ...models, options: { max_retries: 0 } },
    expect: failsImmediately(503, "InternalServerError"),
  },
  {
    name: "a call can set the number of retries",
    faults: [{ ...answer(503, { "retry-after": "0" }), times: 5 }],
    call: { ...models, options: { max_retries: 5 } },
    expect: { value, requests: 6, idempotency_keys: 0 },
  },
  {
    name: "respects Retry-After in seconds",
    faults: [answer(429, { "retry-after": "1" })],
    call: models,
    expect: retried,
    at_least_ms: 1_000,
  },
  {
    name: "prefers retry-after-ms over Retry-After",
    faults: [answer(429, { "retry-after-ms": "900", "retry-after": "120" })],
    call: models,
    expect: retried,
    at_least_ms: 900,
  },
  {
    name: "fails immediately if Retry-After is more than 60 seconds",
    faults: [answer(429, { "retry-after": "3600" })],
    call: models,
    expect: failsImmediately(429, "RateLimitError"),
  },
  {
    name: "fails immediately if the Retry-After date is more than a minute away",
    faults: [answer(503, { "retry-after": "Fri, 01 Jan 2100 00:00:00 GMT" })],
    call: models,
    expect: failsImmediately(503, "InternalServerError"),
  },
  {
    name: "retries immediately if the Retry-After date is in the past",
    faults: [answer(503, { "retry-after": "Fri, 01 Jan 1999 00:00:00 GMT" })],
    call: models,
    expect: retried,
  },
  {
    name: "ignores an invalid Retry-After",
    faults: [answer(503, { "retry-after": "soon" })],
    call: models,
    expect: retried,
    at_least_ms: 350,
  },
];
