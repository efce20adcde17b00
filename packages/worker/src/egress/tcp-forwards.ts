import { isIP } from "node:net";
import { normalizeHost } from "./host.ts";
import type { EgressPolicy } from "./policy.ts";

/** A host and port that programs in a sandbox reach like a host of their own network, without a proxy. */
export interface TcpForward {
  host: string;
  port: number;
  /** The loopback address in the sandbox at which a listener accepts connections to the host. */
  address: string;
}

/** Loopback addresses from 127.0.0.2 on. An environment with more hosts must use the proxy for the rest. */
const maxHosts = 64;

/**
 * Returns the forwards of an allowlist: one for each entry with a port, so that programs that know no proxy, such as
 * `psql -h db.internal`, work without configuration. Wildcards and addresses have none, because there is no name to map.
 */
export function listTcpForwards({ mode, allow }: EgressPolicy): TcpForward[] {
  if (mode !== "allowlist") return [];
  const addresses = new Map<string, string>();
  const forwards = new Map<string, TcpForward>();
  for (const entry of allow) {
    const [, name = "", digits] = /^([^:*]+):(\d{1,5})$/.exec(entry) ?? [];
    const host = normalizeHost(name);
    const port = Number(digits);
    if (!host || isIP(host) || host === "localhost" || !(port > 0)) continue;
    if (!addresses.has(host) && addresses.size === maxHosts) continue;
    const address = addresses.get(host) ?? `127.0.0.${addresses.size + 2}`;
    addresses.set(host, address);
    forwards.set(`${host}:${port}`, { host, port, address });
  }
  return [...forwards.values()];
}

/** Returns the lines of a sandbox's /etc/hosts that lead to the forwards. */
export function hostsLines(forwards: TcpForward[]): string {
  const byHost = new Map(forwards.map(({ host, address }) => [host, address]));
  return [...byHost].map(([host, address]) => `${address} ${host}\n`).join("");
}
