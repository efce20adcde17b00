/**
 * Decides which addresses the server may connect to when it calls another service. Public addresses are allowed. The operator
 * allows others with OUTRIDER_ALLOW_ADDRESSES, which workers read in the same form.
 */
import { BlockList, isIP } from "node:net";
import ipaddr from "ipaddr.js";

export interface AllowedAddresses {
  /** `address` is the IP address that `host` resolves to, or the host itself. */
  allows(target: { host: string; port: number; address: string }): boolean;
  /** Whether the operator listed the target, so that it may also be called without TLS. */
  names(target: { host: string; port: number; address: string }): boolean;
}

/** A public address at which Azure exposes platform services, including metadata, to its virtual machines. */
const AZURE = "168.63.129.16";
const public6 = ipaddr.IPv6.parseCIDR("2000::/3");
/** NAT64, which IPv6-only hosts use to reach IPv4. */
const nat64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/** Parses a list such as `10.0.0.0/8, 127.0.0.1:3000, git.internal, *.corp.internal:443, [fd00::/8]:443`. */
export function parseAllowedAddresses(text = ""): AllowedAddresses {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map(parseEntry);
  const names: AllowedAddresses["names"] = ({ host, port, address }) =>
    entries.some(
      (entry) =>
        (entry.port ?? port) === port && (entry.matches(plain(host)) || entry.matches(plain(address))),
    );
  return { names, allows: (target) => isPublic(plain(target.address)) || names(target) };
}

/** Parses OUTRIDER_NO_PROXY or NO_PROXY. Loopback is always direct. Entries in other forms have no effect. */
export function parseDirectHosts(text = ""): (target: { host: string; port: number }) => boolean {
  const items = text.split(/[\s,]+/).filter((item) => item !== "");
  const entries = [...items, "localhost", "*.localhost", "127.0.0.0/8", "[::1]"].flatMap((item) => {
    try {
      // A domain stands for itself and its subdomains.
      const domain = item.replace(/^\./, "");
      return item.startsWith(".") ? [parseEntry(domain), parseEntry(`*.${domain}`)] : parseEntry(item);
    } catch {
      return [];
    }
  });
  return ({ host, port }) =>
    items.includes("*") ||
    entries.some((entry) => (entry.port ?? port) === port && entry.matches(plain(host)));
}

interface Entry {
  port: number | undefined;
  matches(host: string): boolean;
}

function parseEntry(text: string): Entry {
  const [, bracketed, bracketedPort] = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(text) ?? [];
  const [, name, namePort] = /^([^:]+):(\d{1,5})$/.exec(text) ?? [];
  const body = plain(bracketed ?? name ?? text);
  const port = bracketedPort ?? namePort;
  return { port: port === undefined ? undefined : Number(port), matches: matcherOf(body, text) };
}

function matcherOf(body: string, text: string): Entry["matches"] {
  const [start = "", length] = body.split("/");
  if (length !== undefined) {
    const family = isIP(start) === 6 ? "ipv6" : "ipv4";
    const maxLength = family === "ipv6" ? 128 : 32;
    if (isIP(start) === 0 || !/^\d{1,3}$/.test(length) || Number(length) > maxLength)
      throw invalidEntry(text);
    const range = new BlockList();
    range.addSubnet(start, Number(length), family);
    return (host) => isIP(host) !== 0 && range.check(host, isIP(host) === 6 ? "ipv6" : "ipv4");
  }
  if (body.startsWith("*.") && isName(body.slice(2))) return (host) => host.endsWith(body.slice(1));
  if (isIP(body) === 0 && !isName(body)) throw invalidEntry(text);
  return (host) => host === body;
}

function isName(text: string): boolean {
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(text);
}

function isPublic(address: string): boolean {
  if (isIP(address) === 0 || address === AZURE) return false;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === "ipv4") return parsed.range() === "unicast" && parsed.toString() !== AZURE;
  const ipv6 = parsed as ipaddr.IPv6;
  if (ipv6.match(nat64)) return isPublic(ipv6.toByteArray().slice(12).join("."));
  return ipv6.match(public6) && parsed.range() === "unicast";
}

/** Removes brackets and the final dot, and writes IPv4 addresses in IPv6 form as IPv4. */
function plain(host: string): string {
  const name = host
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
  return isIP(name) === 6 ? ipaddr.process(name).toString() : name;
}

function invalidEntry(entry: string): Error {
  return new Error(
    `OUTRIDER_ALLOW_ADDRESSES: ${JSON.stringify(entry)} is not an address, range or host name. Examples: 10.0.0.0/8, 127.0.0.1:3000, git.internal, [::1]:22`,
  );
}
