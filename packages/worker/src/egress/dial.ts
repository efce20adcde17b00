import { isIP, type Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { isOwnAddress } from "./addresses.ts";
import { connectTo } from "./connect.ts";
import { RefusedError, UnreachableError } from "./egress-errors.ts";
import type { Exceptions } from "./exceptions.ts";
import type { Lookup } from "./fair-lookup.ts";
import type { Target } from "./host.ts";
import { createPolicyCheck, type EgressPolicy } from "./policy.ts";
import { resolveTarget } from "./resolve.ts";
import type { UpstreamProxy } from "./upstream-proxy.ts";

export interface DialOptions {
  policy: EgressPolicy;
  exceptions: Exceptions;
  lookup: Lookup;
  /** The company's proxy, if the operator has set one. */
  upstream?: UpstreamProxy | undefined;
  timeoutMs: number;
  /** Aborts pending connections when the proxy closes. */
  signal: AbortSignal;
}

export type Dial = (target: Target) => Promise<Socket>;

/** A connection for one plain HTTP request. */
export interface HttpConnection {
  socket: Socket;
  /** Set if the socket leads to the upstream proxy, which expects a request in absolute form. */
  via?: UpstreamProxy;
}

export interface Dialer {
  /** Connects to the target, through a tunnel if there is an upstream proxy. */
  dial: Dial;
  /** Connects to the target, or to the upstream proxy. Many proxies allow tunnels only for HTTPS. */
  dialForHttp(target: Target): Promise<HttpConnection>;
}

const maxAddresses = 4;
/** Behind an upstream proxy, the local DNS server may not know public names. It must not delay every connection. */
const upstreamLookupMs = 3_000;

/**
 * Returns the functions that open all outbound connections. They apply the policy, resolve the name, and connect only
 * to an address that they have checked. They reject with a RefusedError or an UnreachableError.
 *
 * With an upstream proxy, the proxy resolves the name again. The check of the addresses still refuses names that lead to
 * private addresses here. A name that has no address here is passed to the proxy by name, unless it is an internal name.
 */
export function createDialer(options: DialOptions): Dialer {
  const { policy, exceptions, upstream, timeoutMs, signal } = options;
  const checkPolicy = createPolicyCheck(policy, exceptions);

  async function connectToAny(addresses: string[], port: number): Promise<Socket> {
    let failure = new UnreachableError(502, "the proxy is closing");
    for (const address of addresses.slice(0, maxAddresses)) {
      if (signal.aborted) break;
      try {
        return await connectTo({ address, port, timeoutMs, signal });
      } catch (error) {
        failure = error as UnreachableError;
      }
    }
    throw failure;
  }

  /** Returns the addresses to connect to, or the proxy to use instead. */
  async function findRoute(target: Target): Promise<string[] | UpstreamProxy> {
    const refusal = checkPolicy(target);
    if (refusal) throw new RefusedError(refusal);
    if (!upstream || upstream.isBypassed(target)) return await resolveTarget(target, options);
    const addresses = await resolveBeforeUpstream(target, options);
    const isDirect =
      addresses.length > 0 && (addresses.every(isLocal) || upstream.isBypassed(target, addresses));
    return isDirect ? addresses : upstream;
  }

  return {
    async dial(target) {
      const route = await findRoute(target);
      if (Array.isArray(route)) return await connectToAny(route, target.port);
      return await route.tunnel(target, { timeoutMs, signal });
    },
    async dialForHttp(target) {
      const route = await findRoute(target);
      if (Array.isArray(route)) return { socket: await connectToAny(route, target.port) };
      return { socket: await route.connect({ timeoutMs, signal }), via: route };
    },
  };
}

export function createDial(options: DialOptions): Dial {
  return createDialer(options).dial;
}

/** Returns the target's addresses that may be reached, or none if the name can be resolved only by the proxy. */
async function resolveBeforeUpstream(target: Target, options: DialOptions): Promise<string[]> {
  const timeoutMs = Math.min(options.timeoutMs, upstreamLookupMs);
  try {
    return await resolveTarget(target, { ...options, timeoutMs });
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    if (isInternalName(target.host) && !options.exceptions.covers({ ...target, address: "" }))
      throw new RefusedError({
        reason: "it is an internal name that has no address here",
        remedy: "Only the operator of Outrider can add an exception",
      });
    return [];
  }
}

/** Names that the upstream proxy could resolve to hosts of the company's network. */
function isInternalName(host: string): boolean {
  return /^[^.]+$|\.(internal|local|localdomain|localhost|lan|intranet|corp|home|private|arpa)$/.test(host);
}

/** The upstream proxy's own machine has other addresses with these meanings. */
function isLocal(address: string): boolean {
  return (isIP(address) !== 0 && ipaddr.parse(address).range() === "loopback") || isOwnAddress(address);
}
