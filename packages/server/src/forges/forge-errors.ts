import { ForgeError } from "./forge-client.ts";

export interface FailedCall {
  /** The name of the product, such as GitHub. */
  product: string;
  /** What was attempted, such as "create the pull request". */
  action: string;
  /** The permission that the call needs, in the words of the forge. */
  needs?: string;
  status: number;
  /** The forge's own message. */
  message: string;
  headers: Headers;
}

/** Describes an unsuccessful response of a forge. */
export function forgeErrorOf(call: FailedCall): ForgeError {
  const { product, action, status, headers, needs } = call;
  const message = shorten(call.message);
  const detail = message === "" ? "" : ` (${message})`;
  if (status === 429 || (status === 403 && isRateLimit(headers, message))) return rateLimited(call);
  if (status === 401) {
    return new ForgeError(
      "unauthorized",
      `${product} rejected the credential: it was revoked, has expired or is wrong. Connect the forge again with a new one.`,
    );
  }
  if (status === 403) {
    const accepted = headers.get("x-accepted-github-permissions") ?? undefined;
    const permission = needs ?? accepted;
    return new ForgeError(
      "forbidden",
      `${product} does not allow this credential to ${action}${detail}.${permission ? ` It needs the permission ${permission}.` : ""}`,
    );
  }
  if (status === 404) {
    return new ForgeError(
      "not_found",
      `${product} could not ${action}: not found, or the credential has no access to it.${needs ? ` It needs the permission ${needs}.` : ""}`,
    );
  }
  if (status >= 500)
    return new ForgeError("server_error", `${product} failed to ${action} (HTTP ${status}).`);
  if (status === 409 || (status === 422 && /already exists/i.test(message)))
    return new ForgeError("conflict", `${product} could not ${action}${detail}.`);
  return new ForgeError("invalid", `${product} refused to ${action}${detail || ` (HTTP ${status})`}.`);
}

function isRateLimit(headers: Headers, message: string): boolean {
  return (
    headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0" || /rate limit/i.test(message)
  );
}

const MAX_WAIT_MS = 24 * 3_600_000;

function rateLimited({ product, headers }: FailedCall): ForgeError {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const reset = Number(headers.get("x-ratelimit-reset") ?? headers.get("ratelimit-reset") ?? Number.NaN);
  const wait = Number.isFinite(seconds) ? seconds * 1_000 : reset * 1_000 - Date.now();
  // GitHub asks for at least a minute if it names no time.
  const retryAfterMs = Math.min(Math.max(Number.isFinite(wait) ? wait : 60_000, 1_000), MAX_WAIT_MS);
  const until = new Date(Date.now() + retryAfterMs).toISOString().replace(/\.\d+Z$/, "Z");
  return new ForgeError("rate_limited", `${product} limits the rate of requests until ${until}.`, {
    retryAfterMs,
  });
}

/** The text of forges is untrusted: one line, without control characters. */
export function shorten(text: string, max = 300): string {
  const line = text
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .replace(/\.$/, "");
  return line.length > max ? `${line.slice(0, max)}…` : line;
}
