import type { Fault } from "./fault-proxy.ts";

/**
 * A call in no language: names and members as on the wire. Wherever a text holds `$name.member`, it stands for what an
 * earlier call of the same behaviour saved; `$unique.id` is new in each. Text is the value `{text}`, bytes are `{size}`,
 * nothing is `{}`, a list that is not followed is its first page.
 */
export interface Call {
  /** `runs`, `keys` …, or `client` for `get`, `post` … on paths of one's own. */
  resource: string;
  /** In snake case. */
  method: string;
  /** What stands in the path. */
  args?: string[];
  body?: unknown;
  query?: Record<string, unknown>;
  options?: {
    /** For one attempt; of `wait` and `create_and_wait`: for all of it. */
    timeout_ms?: number;
    max_retries?: number;
    headers?: Record<string, string>;
    idempotency_key?: string;
  };
  /** The name under which later calls find the value. */
  save?: string;
  /** Take the raw response: the value is `{status, headers, body}`, headers by their names in lower case. */
  raw?: true;
  /** Follow a list over its pages, or a stream to its end, but take no more than this: the value is an array. */
  collect?: number;
  /**
   * Which members of the value are in the outcome, nested ones with dots: `{"a.b": 1}`, the
   * items of a list by number and its size as `length`, without those that the value does
   * not have. Of an array: of each item. Where absent, the outcome's value is null.
   */
  show?: string[];
}

export interface Behaviour {
  name: string;
  /** Calls past the proxy, straight to the server. */
  before?: Call[];
  /** What the proxy does to the next requests that match, in this order; `$name.member` stands here too. */
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
  /** How many requests the proxy saw; -1 in an expectation where that is a matter of time. */
  requests: number;
  /** How many different Idempotency-Keys they had. */
  idempotency_keys: number;
  after?: unknown[];
  elapsed_ms: number;
}
