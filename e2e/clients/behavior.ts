import type { Fault } from "./fault-proxy.ts";

/**
 * A call in a form that does not depend on a language, with the names of the API. In strings, `$name.field` is replaced
 * with a value that an earlier call of the same behavior saved or that the driver was given, and `$unique.id` with a new ID
 * per behavior. A text result has the value `{text}`, bytes have `{size}`, no result has `{}`, and a list that is not
 * collected has its first page.
 */
export interface Call {
  /** `runs`, `keys` …, or `client` for calls by path with `get`, `post` …. */
  resource: string;
  /** In snake case. */
  method: string;
  /** Path parameters. */
  args?: string[];
  body?: unknown;
  query?: Record<string, unknown>;
  options?: {
    /** Timeout of one attempt; for `wait` and `create_and_wait`, of the whole call. */
    timeout_ms?: number;
    max_retries?: number;
    headers?: Record<string, string>;
    idempotency_key?: string;
  };
  /** The name by which later calls refer to the value. */
  save?: string;
  /** Return the raw response: the value is `{status, headers, body}`, with header names in lower case. */
  raw?: true;
  /** Collect up to this many items from all pages of a list, or from a stream. The value is an array. */
  collect?: number;
  /**
   * The fields of the value, or of each item of an array, that are part of the outcome. Nested fields have dots:
   * `{"a.b": 1}`. Items of a list have their index as name, and its size is `length`. Missing fields are omitted.
   * Without `show`, the outcome's value is null.
   */
  show?: string[];
}

export interface Behavior {
  name: string;
  /** Calls before `call`, directly to the server. */
  before?: Call[];
  /** Faults of the proxy, in this order. May contain `$name.member`. */
  faults: Fault[];
  call: Call;
  /** Calls after `call`, directly to the server. Their values are `after` in the outcome. */
  after?: Call[];
  /** The expected outcome, except for the duration. */
  expect: Omit<Outcome, "name" | "elapsed_ms">;
  at_least_ms?: number;
}

export interface Outcome {
  name: string;
  value?: unknown;
  error?: {
    class: string;
    /** For errors with a status. */
    status?: number;
    code?: string;
  };
  /** Number of requests at the proxy; -1 if it depends on timing. */
  requests: number;
  /** Number of different Idempotency-Keys. */
  idempotency_keys: number;
  after?: unknown[];
  elapsed_ms: number;
}
