/** Security headers for every response. A route may override individual headers. */
const securityHeaders = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

const YEAR_SECONDS = 31_536_000;

/** Returns the headers that every response gets, regardless of its route. */
export function commonHeaders(traceId: string, sendsHsts: boolean): Record<string, string> {
  return {
    "x-trace-id": traceId,
    ...securityHeaders,
    ...(sendsHsts ? { "strict-transport-security": `max-age=${YEAR_SECONDS}` } : {}),
  };
}
