import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { normalizeHost } from "./host.ts";

/** A public address at which Azure exposes platform services, including metadata, to its virtual machines. */
const AZURE = "168.63.129.16";
/** The only public IPv6 range. The library classifies every address that it does not recognize as unicast. */
const public6 = ipaddr.IPv6.parseCIDR("2000::/3");
/** NAT64, which IPv6-only hosts use to reach IPv4. Such an address is public if its embedded IPv4 address is public. */
const nat64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/** Returns whether an address is public. Other addresses are reachable only if the operator has added an exception. */
export function isPublic(address: string): boolean {
  const host = normalizeHost(address);
  if (host === undefined || host === AZURE || isIP(host) === 0) return false;
  const parsed = ipaddr.parse(host);
  if (parsed.kind() === "ipv4") return parsed.range() === "unicast";
  if (parsed.match(nat64)) return isPublic(parsed.toByteArray().slice(12).join("."));
  return parsed.match(public6) && parsed.range() === "unicast";
}

/**
 * Returns whether the address belongs to this machine. Such an address may be public, but a connection from the machine
 * itself bypasses the firewall.
 */
export function isOwnAddress(address: string, interfaces = networkInterfaces()): boolean {
  return Object.values(interfaces).some((addresses) =>
    addresses?.some((own) => normalizeHost(own.address) === normalizeHost(address)),
  );
}
