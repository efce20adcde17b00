/**
 * Returns the delay that a provider asks for, in milliseconds. Providers send it in one of two headers or, like Google,
 * in the body.
 */
export function parseRetryAfter(headers: Record<string, string>, body: string): number | undefined {
  const ms = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (ms >= 0) return ms;
  const header = headers["retry-after"] ?? "";
  const seconds = Number.parseFloat(header);
  if (/^[\d.]+$/.test(header.trim()) && seconds >= 0) return seconds * 1000;
  const at = Date.parse(header);
  if (!Number.isNaN(at)) return Math.max(0, at - Date.now());
  const delay = /"retryDelay"\s*:\s*"([\d.]+)s"/.exec(body)?.[1];
  return delay === undefined ? undefined : Number.parseFloat(delay) * 1000;
}
