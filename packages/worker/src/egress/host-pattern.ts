import { isIP } from "node:net";
import { normalizeHost } from "./host.ts";

/**
 * Compiles a host pattern. `example.com` matches only that name; `*.example.com` matches all its subdomains, but not
 * `example.com`. Returns undefined for an invalid pattern.
 */
export function compileHostPattern(pattern: string): ((host: string) => boolean) | undefined {
  const isWildcard = pattern.startsWith("*.");
  const name = normalizeHost(isWildcard ? pattern.slice(2) : pattern);
  if (name === undefined) return undefined;
  if (!isWildcard) return (host) => host === name;
  // IP addresses have no subdomains.
  if (isIP(name)) return undefined;
  return (host) => !isIP(host) && host.endsWith(`.${name}`);
}
