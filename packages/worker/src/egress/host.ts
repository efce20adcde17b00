import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import ipaddr from "ipaddr.js";

export interface Target {
  /** Normalized by normalizeHost. */
  host: string;
  port: number;
}

/** Characters that URL parsing would drop, decode or treat as the end of the host. */
const invalidInHost = /[\p{C}\s%/\\?#@]/u;
const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Normalizes a host: a name in lower-case ASCII without a trailing dot, or an IP address without brackets. Other forms
 * that a resolver accepts as an address (`127.1`, `0x7f000001`) become that address, so that the checked host is the
 * one that is reached. Returns undefined for an invalid host.
 */
export function normalizeHost(text: string): string | undefined {
  if (invalidInHost.test(text)) return undefined;
  const ascii = domainToASCII(isIP(text) === 6 ? `[${text}]` : text);
  // ::ffff:a.b.c.d becomes a.b.c.d, because the kernel treats them as the same address.
  if (ascii.startsWith("[")) return ipaddr.process(ascii.slice(1, -1)).toString();
  const name = ascii.replace(/\.$/, "");
  if (isIP(name) === 4) return name;
  return name.length <= 253 && name.split(".").every((part) => label.test(part)) ? name : undefined;
}

/** Parses `host:port`, or `host` if there is a default port. IPv6 addresses must be in brackets. Rejects user info. */
export function parseTarget(authority: string, defaultPort?: number): Target | undefined {
  const parts = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(authority);
  const host = parts?.[1] && normalizeHost(parts[1]);
  const port = parts?.[2] === undefined ? defaultPort : Number(parts[2]);
  return host && port && port <= 65_535 ? { host, port } : undefined;
}

/** Formats a target as `host:port`, the inverse of parseTarget. */
export function formatAuthority({ host, port }: Target): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
