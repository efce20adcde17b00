import { BlockList, isIP } from "node:net";
import { normalizeHost, type Target } from "./host.ts";
import { compileHostPattern } from "./host-pattern.ts";

/** Non-public addresses that the operator allows. */
export interface Exceptions {
  /** Returns whether the address may be used for this target. */
  covers(target: Target & { address: string }): boolean;
  /** Returns whether the operator listed this host together with this port. */
  names(target: Target): boolean;
}

interface Entry {
  port: number | undefined;
  matches(host: string): boolean;
  isRange: boolean;
}

/**
 * Parses a list such as `10.0.0.0/8, 127.0.0.1:8080, git.internal, *.corp.internal:443, [::1]:22, [fd00::/8]:443`. An
 * entry is a range, an address or a name, optionally limited to one port. A name covers every address that it resolves
 * to, so the operator must trust the DNS server that resolves it.
 */
export function parseExceptions(text: string): Exceptions {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map(parseEntry);
  const anyMatches = (host: string, port: number, filter: (entry: Entry) => boolean = () => true) =>
    entries.some((entry) => filter(entry) && (entry.port ?? port) === port && entry.matches(host));
  return {
    covers: ({ host, port, address }) => anyMatches(host, port) || anyMatches(address, port),
    names: ({ host, port }) => anyMatches(host, port, (entry) => !entry.isRange && entry.port !== undefined),
  };
}

function parseEntry(text: string): Entry {
  const { body, port } = splitPort(text);
  const slash = body.indexOf("/");
  if (slash >= 0) {
    return { port, matches: parseRange(body.slice(0, slash), body.slice(slash + 1), text), isRange: true };
  }
  const matches = compileHostPattern(body);
  if (!matches) throw invalidEntry(text, "is not an address, range or host name");
  return { port, matches, isRange: false };
}

/**
 * Splits an entry into host and port. An IPv6 address with a port must be in brackets; without brackets, none of its
 * colons separates a port.
 */
function splitPort(text: string): { body: string; port: number | undefined } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  if (bracketed && !bracketed[1]?.includes(":"))
    throw invalidEntry(text, "has brackets around something other than IPv6");
  const plain = /^([^:]*):([^:]*)$/.exec(text);
  const [, body = text, port] = bracketed ?? plain ?? [];
  if (port === undefined) return { body, port };
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65_535) throw invalidEntry(text, "must have a port between 1 and 65535");
  return { body, port: number };
}

function parseRange(start: string, length: string, text: string): Entry["matches"] {
  const address = isIP(start) ? normalizeHost(start) : undefined;
  if (address === undefined) throw invalidEntry(text, "must start with an IP address");
  const family = isIP(start) === 6 ? "ipv6" : "ipv4";
  if (family !== familyOf(address))
    throw invalidEntry(text, "is an IPv4-mapped IPv6 range; write it as IPv4");
  const maxLength = family === "ipv4" ? 32 : 128;
  if (!/^\d{1,3}$/.test(length) || Number(length) > maxLength)
    throw invalidEntry(text, `must have a prefix length between 0 and ${maxLength}`);
  const list = new BlockList();
  list.addSubnet(address, Number(length), family);
  return (host) => isIP(host) !== 0 && familyOf(host) === family && list.check(host, family);
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function invalidEntry(entry: string, problem: string): Error {
  return new Error(
    `${JSON.stringify(entry)} ${problem}. Examples: 10.0.0.0/8, 127.0.0.1:8080, git.internal, [::1]:22`,
  );
}
