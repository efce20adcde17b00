import type { Behaviour, Call } from "../behaviour.ts";

/** A call that succeeds, and what of its value is the same each time. */
export function works(
  call: Call,
  value: unknown,
  more: { words?: string; before?: Call[]; after?: Call[]; requests?: number; seen?: unknown[] } = {},
): Behaviour {
  const { words, before, after, requests = 1, seen } = more;
  const isPost = /^(create|cancel|share|post|invite|link)/.test(call.method);
  return {
    name: [`${call.resource}.${call.method}`, words, call.raw && "as a raw response", "works"]
      .filter(Boolean)
      .join(" "),
    faults: [],
    call,
    expect: { value, requests, idempotency_keys: isPost ? 1 : 0, ...(seen ? { after: seen } : {}) },
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
  };
}
