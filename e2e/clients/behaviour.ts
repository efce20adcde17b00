import type { Fault } from "./fault-proxy.ts";

/** A call in no language: names and members as on the wire. */
export interface Call {
  /** `runs`, `keys` …, or `client` for `get`, `post` … on paths of one's own. */
  resource: string;
  /** In snake case. */
  method: string;
  /** What stands in the path. Here and in `body` and `query`, `$name.member` is a member of a value saved before. */
  args?: string[];
  body?: unknown;
  query?: Record<string, unknown>;
  options?: {
    timeout_ms?: number;
    max_retries?: number;
    headers?: Record<string, string>;
    idempotency_key?: string;
  };
  /** The name under which later calls find the value. */
  save?: string;
  /** Take the raw response: the value is `{status, headers, body}`, headers only as far as `show` names them. */
  raw?: true;
  /** Follow a list over its pages, or a stream to its end, but take no more than this: the value is an array. */
  collect?: number;
  /** What of the value is in the outcome; nested members with dots. Nothing where absent. Of an array: of each item. */
  show?: string[];
}

export interface Behaviour {
  name: string;
  /** Calls past the proxy, straight to the server. */
  before?: Call[];
  /** What the proxy does to the next requests that match, in this order. */
  faults: Fault[];
  call: Call;
  /** Calls past the proxy, after `call`; their values are the outcome's `after`. */
  after?: Call[];
  /** Equal to the outcome in all but the time. */
  expect: Omit<Outcome, "name" | "elapsed_ms">;
  at_least_ms?: number;
  at_most_ms?: number;
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
  /** How many requests the proxy saw. */
  requests: number;
  /** How many different Idempotency-Keys they had. */
  idempotency_keys: number;
  after?: unknown[];
  elapsed_ms: number;
}
