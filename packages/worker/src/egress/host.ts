import { isIP } from "node:net";
import { domainToASCII } from "node:url";

export interface Target {
  /** In the one form that hostOf gives. */
  host: string;
  port: number;
}

/** What reading a URL would drop, decode or take for the end of the host. */
const notInHosts = /[\p{C}\s%/\\?#@]/u;
const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * The one form of a host: a name in lower case, ASCII and without the dot at its end, or an IP address without brackets.
 * Whatever else a system's resolver would take for an address (`127.1`, `0x7f000001`) becomes that address here, so
 * that what is checked is what is reached. Undefined for anything that is no host.
 */
export function hostOf(text: string): string | undefined {
  if (notInHosts.test(text)) return undefined;
  const ascii = domainToASCII(isIP(text) === 6 ? `[${text}]` : text);
  if (ascii.startsWith("[")) return withoutMapping(ascii.slice(1, -1));
  const name = ascii.replace(/\.$/, "");
  if (isIP(name) === 4) return name;
  return name.length <= 253 && name.split(".").every((each) => label.test(each)) ? name : undefined;
}

/** The eight groups of an IPv6 address in the form that hostOf gives. */
export function groupsOf(address: string): number[] {
  const [head = [], tail = []] = address
    .split("::")
    .map((side) => (side === "" ? [] : side.split(":").map((group) => Number.parseInt(group, 16))));
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** The IPv4 address in the last 32 bits of an IPv6 address. */
export function lastFour(groups: number[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 255])
    .join(".");
}

/** The kernel takes ::ffff:a.b.c.d for a.b.c.d, so for us they are the same. */
function withoutMapping(address: string): string {
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? lastFour(groups) : address;
}

/** `host:port` or, where there is a default, `host`; an IPv6 address stands in brackets. Nothing else, no user. */
export function targetOf(authority: string, defaultPort?: number): Target | undefined {
  const parts = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(authority);
  const host = parts?.[1] && hostOf(parts[1]);
  const port = parts?.[2] === undefined ? defaultPort : Number(parts[2]);
  return host && port && port <= 65_535 ? { host, port } : undefined;
}

/** The way back. */
export function authorityOf({ host, port }: Target): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
