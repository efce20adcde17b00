import { BlockList, isIP } from "node:net";
import { hostOf, type Target } from "./host.ts";
import { matcherOf } from "./names.ts";

/** What the operator allows although its addresses are not for everyone. */
export interface Exceptions {
  /** Whether the address may be reached as the answer to this host. */
  covers(target: Target & { address: string }): boolean;
  /** Whether the operator wrote down this very host with this very port. */
  names(target: Target): boolean;
}

interface Entry {
  port: number | undefined;
  matches(host: string): boolean;
  isRange: boolean;
}

/**
 * Reads `10.0.0.0/8, 127.0.0.1:8080, git.internal, *.corp.internal:443, [::1]:22, [fd00::/8]:443`: ranges, addresses
 * and names, each for all ports or for one. A name covers whatever it resolves to, so write only names whose DNS you trust.
 */
export function parseExceptions(text: string): Exceptions {
  const entries = text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .map(parseEntry);
  const some = (host: string, port: number, kind: (entry: Entry) => boolean) =>
    entries.some((entry) => kind(entry) && (entry.port ?? port) === port && entry.matches(host));
  return {
    covers: ({ host, port, address }) => some(host, port, () => true) || some(address, port, () => true),
    names: ({ host, port }) => some(host, port, (entry) => !entry.isRange && entry.port !== undefined),
  };
}

function parseEntry(text: string): Entry {
  const { body, port } = splitPort(text);
  const slash = body.indexOf("/");
  if (slash >= 0) {
    return { port, matches: rangeOf(body.slice(0, slash), body.slice(slash + 1), text), isRange: true };
  }
  const matches = matcherOf(body);
  if (!matches) throw wrong(text, "is no address, range or host name");
  return { port, matches, isRange: false };
}

/** What stands in brackets is IPv6; without them it has colons of its own, and hence no port. */
function splitPort(text: string): { body: string; port: number | undefined } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  if (bracketed && !bracketed[1]?.includes(":")) throw wrong(text, "has brackets around what is not IPv6");
  const plain = /^([^:]*):([^:]*)$/.exec(text);
  const [, body = text, port] = bracketed ?? plain ?? [];
  if (port === undefined) return { body, port };
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65_535) throw wrong(text, "has a port that is not between 1 and 65535");
  return { body, port: number };
}

function rangeOf(start: string, length: string, text: string): Entry["matches"] {
  const address = isIP(start) ? hostOf(start) : undefined;
  if (address === undefined) throw wrong(text, "is a range that does not begin with an address");
  const family = isIP(start) === 6 ? "ipv6" : "ipv4";
  if (family !== familyOf(address)) throw wrong(text, "is IPv4 in IPv6; write the range as IPv4");
  const longest = family === "ipv4" ? 32 : 128;
  if (!/^\d{1,3}$/.test(length) || Number(length) > longest)
    throw wrong(text, `needs a length between 0 and ${longest}`);
  const list = new BlockList();
  list.addSubnet(address, Number(length), family);
  return (host) => isIP(host) !== 0 && familyOf(host) === family && list.check(host, family);
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function wrong(entry: string, problem: string): Error {
  return new Error(
    `${JSON.stringify(entry)} ${problem}. Examples: 10.0.0.0/8, 127.0.0.1:8080, git.internal, [::1]:22`,
  );
}
