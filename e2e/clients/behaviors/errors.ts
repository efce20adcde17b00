import type { Behavior, Call } from "../behavior.ts";

const rejected = (name: string, status: number, code: string, keys = 0) => ({
  error: { class: name, status, code },
  requests: 1,
  idempotency_keys: keys,
});

const finished: Call = {
  resource: "runs",
  method: "create_and_wait",
  body: { prompt: "SAY: done" },
  save: "run",
};

/** Errors of the server: class, status and code. */
export const errors: Behavior[] = [
  {
    name: "an unknown field raises BadRequestError",
    faults: [],
    call: { resource: "runs", method: "create", body: { prompt: "SAY: x", promt: "typo" } },
    expect: rejected("BadRequestError", 400, "invalid_request", 1),
  },
  {
    name: "an unknown key raises AuthenticationError",
    faults: [],
    call: { resource: "me", method: "get", options: { headers: { Authorization: "Bearer orp_unknown" } } },
    expect: rejected("AuthenticationError", 401, "authentication_required"),
  },
  {
    name: "a key without the scope raises PermissionDeniedError",
    before: [
      {
        resource: "keys",
        method: "create",
        body: { name: "reader", type: "personal", scopes: ["runs:read"] },
        save: "key",
      },
    ],
    faults: [],
    call: {
      resource: "runs",
      method: "create",
      body: { prompt: "SAY: x" },
      options: { headers: { Authorization: "Bearer $key.key" } },
    },
    expect: rejected("PermissionDeniedError", 403, "not_authorized", 1),
  },
  {
    name: "an unknown run raises NotFoundError",
    faults: [],
    call: { resource: "runs", method: "get", args: ["00000000-0000-7000-8000-000000000000"] },
    expect: rejected("NotFoundError", 404, "resource_not_found"),
  },
  {
    name: "draining an unknown worker raises NotFoundError",
    faults: [],
    call: { resource: "workers", method: "drain", args: ["00000000-0000-7000-8000-000000000000"] },
    expect: rejected("NotFoundError", 404, "resource_not_found", 1),
  },
  {
    name: "cancelling by an unknown filter raises BadRequestError",
    faults: [],
    call: {
      resource: "maintenance",
      method: "cancel_runs",
      body: { filter: { status: ["QUEUED"] }, dry_run: true },
    },
    expect: rejected("BadRequestError", 400, "invalid_request", 1),
  },
  {
    name: "an unknown path raises NotFoundError",
    faults: [],
    call: { resource: "client", method: "get", args: ["/nowhere"] },
    expect: rejected("NotFoundError", 404, "resource_not_found"),
  },
  {
    name: "cancelling a finished run raises ConflictError without retries",
    before: [finished],
    faults: [],
    call: { resource: "runs", method: "cancel", args: ["$run.run_id"] },
    expect: rejected("ConflictError", 409, "conflict", 1),
  },
  {
    name: "reusing an idempotency key with another body raises UnprocessableEntityError",
    before: [
      {
        resource: "runs",
        method: "create",
        body: { prompt: "SAY: first" },
        options: { idempotency_key: "own-$unique.id" },
      },
    ],
    faults: [],
    call: {
      resource: "runs",
      method: "create",
      body: { prompt: "SAY: second" },
      options: { idempotency_key: "own-$unique.id" },
    },
    expect: rejected("UnprocessableEntityError", 422, "idempotency_mismatch", 1),
  },
];
