import type { Behaviour, Call } from "../behaviour.ts";

const refused = (name: string, status: number, code: string, keys = 0) => ({
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

/** The server's own refusals: class, status and code. */
export const refusals: Behaviour[] = [
  {
    name: "an unknown member is BadRequestError",
    faults: [],
    call: { resource: "runs", method: "create", body: { prompt: "SAY: x", promt: "typo" } },
    expect: refused("BadRequestError", 400, "invalid_request", 1),
  },
  {
    name: "an unknown key is AuthenticationError",
    faults: [],
    call: { resource: "me", method: "get", options: { headers: { Authorization: "Bearer orp_unknown" } } },
    expect: refused("AuthenticationError", 401, "authentication_required"),
  },
  {
    name: "a key without the scope is PermissionDeniedError",
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
    expect: refused("PermissionDeniedError", 403, "not_authorized", 1),
  },
  {
    name: "an unknown run is NotFoundError",
    faults: [],
    call: { resource: "runs", method: "get", args: ["00000000-0000-7000-8000-000000000000"] },
    expect: refused("NotFoundError", 404, "resource_not_found"),
  },
  {
    name: "draining an unknown worker is NotFoundError",
    faults: [],
    call: { resource: "workers", method: "drain", args: ["00000000-0000-7000-8000-000000000000"] },
    expect: refused("NotFoundError", 404, "resource_not_found", 1),
  },
  {
    name: "cancelling by a filter that there is not is BadRequestError",
    faults: [],
    call: {
      resource: "brake",
      method: "cancel_runs",
      body: { filter: { status: ["QUEUED"] }, dry_run: true },
    },
    expect: refused("BadRequestError", 400, "invalid_request", 1),
  },
  {
    name: "an unknown path is NotFoundError",
    faults: [],
    call: { resource: "client", method: "get", args: ["/nowhere"] },
    expect: refused("NotFoundError", 404, "resource_not_found"),
  },
  {
    name: "cancelling a finished run is ConflictError, at once",
    before: [finished],
    faults: [],
    call: { resource: "runs", method: "cancel", args: ["$run.run_id"] },
    expect: refused("ConflictError", 409, "conflict", 1),
  },
  {
    name: "another body under the same key is UnprocessableEntityError",
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
    expect: refused("UnprocessableEntityError", 422, "idempotency_mismatch", 1),
  },
];
