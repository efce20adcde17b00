import type { Sent } from "./exchange.ts";
import type { Fixture } from "./fixture.ts";

/** The contract's table of errors, written down a second time. */
export const statusOf = {
  invalid_request: 400,
  model_not_available: 400,
  authentication_required: 401,
  not_authorized: 403,
  resource_not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
} as const;

export interface Expected {
  /** Where the fault lies: a JSON pointer, a parameter or a header. */
  pointer?: string;
  /** What the detail or the fault's message must hold. */
  says?: string | RegExp;
  allow?: string;
  /** Where bytes were sent: the path, if the server could read one. */
  instance?: string;
}

export interface BadRequest extends Expected {
  name: string;
  status: number;
  code: keyof typeof statusOf;
  send?: (fixture: Fixture) => Sent;
  /** Instead of `send`: what is written to the connection. */
  bytes?: (fixture: Fixture) => string | Buffer;
}

type Request = Sent | ((fixture: Fixture) => Sent);

/** Makes a row of the table: what is wrong, what is sent, and what the answer tells beside its code. */
export function refusedAs(code: keyof typeof statusOf) {
  return (name: string, sent: Request, expected: Expected = {}): BadRequest => ({
    name,
    code,
    status: statusOf[code],
    send: typeof sent === "function" ? sent : () => sent,
    ...expected,
  });
}

export const invalid = refusedAs("invalid_request");

export const create = (body: unknown, rest: Partial<Sent> = {}): Sent => ({
  method: "POST",
  path: "/agent/run",
  body,
  ...rest,
});

export const get = (path: string, rest: Partial<Sent> = {}): Sent => ({ method: "GET", path, ...rest });
