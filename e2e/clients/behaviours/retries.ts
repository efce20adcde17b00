import type { Behaviour, Call } from "../behaviour.ts";

const models: Call = { resource: "models", method: "list", show: ["default_model_id"] };
const value = { default_model_id: "scripted" };
const answer = (status: number, headers: Record<string, string> = {}) =>
  ({ kind: "answer", status, headers }) as const;

const again = { value, requests: 2, idempotency_keys: 0 };
const atOnce = (status: number, name: string) => ({
  error: { class: name, status },
  requests: 1,
  idempotency_keys: 0,
});

/** Which answers are tried again, and when. */
export const retries: Behaviour[] = [
  ...[408, 429, 500, 502, 503, 504, 599].map((status) => ({
    name: `${status} is tried again`,
    faults: [answer(status)],
    call: models,
    expect: again,
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
    name: `${status} is ${name} at once`,
    faults: [answer(status)],
    call: models,
    expect: atOnce(status, name),
  })),
  ...[400, 404, 409, 422].map((status) => ({
    name: `${status} with x-should-retry: true is tried again`,
    faults: [answer(status, { "x-should-retry": "true" })],
    call: models,
    expect: again,
  })),
  ...(
    [
      [408, "APIStatusError"],
      [429, "RateLimitError"],
      [500, "InternalServerError"],
      [503, "InternalServerError"],
    ] as const
  ).map(([status, name]) => ({
    name: `${status} with x-should-retry: false is ${name} at once`,
    faults: [answer(status, { "x-should-retry": "false", "retry-after": "0" })],
    call: models,
    expect: atOnce(status, name),
  })),
  {
    name: "after two retries the last answer is the error",
    faults: [answer(500), answer(502), answer(503)],
    call: models,
    expect: { error: { class: "InternalServerError", status: 503 }, requests: 3, idempotency_keys: 0 },
    at_least_ms: 1_000,
  },
  {
    name: "a call without retries tries once",
    faults: [answer(503)],
    call: { ...models, options: { max_retries: 0 } },
    expect: atOnce(503, "InternalServerError"),
  },
  {
    name: "a call with more retries tries as often",
    faults: [{ ...answer(503, { "retry-after": "0" }), times: 5 }],
    call: { ...models, options: { max_retries: 5 } },
    expect: { value, requests: 6, idempotency_keys: 0 },
  },
  {
    name: "Retry-After in seconds is obeyed",
    faults: [answer(429, { "retry-after": "1" })],
    call: models,
    expect: again,
    at_least_ms: 1_000,
  },
  {
    name: "retry-after-ms is obeyed before Retry-After",
    faults: [answer(429, { "retry-after-ms": "900", "retry-after": "30" })],
    call: models,
    expect: again,
    at_least_ms: 900,
    at_most_ms: 20_000,
  },
  {
    name: "Retry-After in seconds beyond a minute is the error at once",
    faults: [answer(429, { "retry-after": "3600" })],
    call: models,
    expect: atOnce(429, "RateLimitError"),
  },
  {
    name: "Retry-After as a date beyond a minute is the error at once",
    faults: [answer(503, { "retry-after": "Fri, 01 Jan 2100 00:00:00 GMT" })],
    call: models,
    expect: atOnce(503, "InternalServerError"),
  },
  {
    name: "Retry-After as a date gone by is no wait",
    faults: [answer(503, { "retry-after": "Fri, 01 Jan 1999 00:00:00 GMT" })],
    call: models,
    expect: again,
  },
  {
    name: "a Retry-After that cannot be read is as none",
    faults: [answer(503, { "retry-after": "soon" })],
    call: models,
    expect: again,
    at_least_ms: 350,
  },
];
