import type { Behavior, Call } from "../behavior.ts";

/** A call that succeeds, and the stable part of its value. */
export function succeeds(
  call: Call,
  value: unknown,
  more: { detail?: string; before?: Call[]; after?: Call[]; requests?: number; seen?: unknown[] } = {},
): Behavior {
  const { detail, before, after, requests = 1, seen } = more;
  const isPost = /^(create|cancel|share|post|invite|link)/.test(call.method);
  return {
    name: [`${call.resource}.${call.method}`, detail, call.raw && "as a raw response", "works"]
      .filter(Boolean)
      .join(" "),
    faults: [],
    call,
    expect: { value, requests, idempotency_keys: isPost ? 1 : 0, ...(seen ? { after: seen } : {}) },
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
  };
}
