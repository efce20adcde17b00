import { isIP, isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * Returns the network that rate limits apply to: the address itself for IPv4, or its /64 prefix for IPv6, because a
 * client usually controls an entire /64.
 */
export function networkOf(address: string): string {
  // Almost every request asks for the network of its client.
  if (isIPv4(address)) return address;
  const [withoutZone = ""] = address.split("%");
  if (isIP(withoutZone) === 0) return address;
  const parsed = ipaddr.process(withoutZone);
  return parsed.toNormalizedString().split(":").slice(0, 4).join(":");
}
