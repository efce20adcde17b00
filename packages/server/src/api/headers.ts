/** What an answer says to browsers, whatever it is about. A route that sets one of these itself has the last word. */
const harmless = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

const YEAR_SECONDS = 31_536_000;

export function headersOfAll(traceId: string, isStrict: boolean): Record<string, string> {
  return {
    "x-trace-id": traceId,
    ...harmless,
    ...(isStrict ? { "strict-transport-security": `max-age=${YEAR_SECONDS}` } : {}),
  };
}
