import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { groupsOf, hostOf, lastFour } from "./host.ts";

/** All of IPv4 that is not for everyone, by the registry of special-purpose addresses. */
const closed4 = listOf("ipv4", [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by carriers, and 100.100.100.200, a cloud's metadata
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // public by its number, and yet a cloud's door to its machines
  "169.254.0.0/16", // link-local, and most clouds' metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments, and 192.0.0.192, a cloud's metadata
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // relays of 6to4
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
]);

/** The only IPv6 addresses that are for everyone. Loopback, fc00::/7, fe80::/10 and multicast are all outside. */
const open6 = listOf("ipv6", ["2000::/3"]);
const closed6 = listOf("ipv6", [
  "2001::/23", // protocol assignments: Teredo, benchmarks, identifiers that are not addresses
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which carries any IPv4 address
  "3fff::/20", // documentation
]);
/** How hosts without IPv4 reach it: as good as the address inside. */
const nat64 = listOf("ipv6", ["64:ff9b::/96"]);

function listOf(family: "ipv4" | "ipv6", subnets: string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = "", prefix] = subnet.split("/");
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** Whether anybody on the internet could have this address. Only these are reached without the operator's leave. */
export function isPublic(address: string): boolean {
  const host = hostOf(address);
  if (host === undefined) return false;
  if (isIP(host) === 4) return !closed4.check(host, "ipv4");
  if (isIP(host) !== 6) return false;
  if (nat64.check(host, "ipv6")) return isPublic(lastFour(groupsOf(host)));
  return open6.check(host, "ipv6") && !closed6.check(host, "ipv6");
}

/** This machine's own addresses may be public, but from here its services are reached behind every firewall. */
export function isOwn(address: string, interfaces = networkInterfaces()): boolean {
  return Object.values(interfaces).some((each) =>
    each?.some((one) => hostOf(one.address) === hostOf(address)),
  );
}
