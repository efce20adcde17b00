/**
 * The connections to model providers whose URL an admin chose through the API, rather than the operator of the server.
 * As with git and MCP servers, they reach public addresses, and others only if the worker's operator allows them. The
 * name is resolved and checked in the same step as the connection, so a later answer of the DNS server cannot lead to
 * another address.
 */
import type { AssignedModel } from "@outrider/contract/worker";
import ipaddr from "ipaddr.js";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { createDial } from "./dial.ts";
import { type Exceptions, parseExceptions } from "./exceptions.ts";
import { createFairLookup } from "./fair-lookup.ts";
import { normalizeHost } from "./host.ts";
import type { UpstreamProxy } from "./upstream-proxy.ts";

const CONNECT_MS = 10_000;

interface NetworkParts {
  exceptions: Exceptions;
  upstream: UpstreamProxy | undefined;
}

type AddressPolicy = NonNullable<AssignedModel["address_policy"]>;

let parts: NetworkParts = { exceptions: parseExceptions(""), upstream: undefined };
const dispatchers = new Map<AddressPolicy, Dispatcher>();

/** Sets the operator's settings for this process, like the global dispatcher of `fetch`. */
export function setModelNetwork(changed: NetworkParts): void {
  parts = changed;
  for (const dispatcher of dispatchers.values()) void dispatcher.close();
  dispatchers.clear();
}

/** Returns the dispatcher for a model, or undefined if its URL needs no check. */
export function modelDispatcher({ address_policy }: AssignedModel): Dispatcher | undefined {
  if (!address_policy) return undefined;
  const known = dispatchers.get(address_policy);
  if (known) return known;
  const dispatcher = createCheckedDispatcher(address_policy);
  dispatchers.set(address_policy, dispatcher);
  return dispatcher;
}

function createCheckedDispatcher(policy: AddressPolicy): Dispatcher {
  const exceptions = policy === "public" ? parts.exceptions : withLoopback(parts.exceptions);
  const dial = createDial({
    policy: { mode: "open", allow: [] },
    exceptions,
    upstream: parts.upstream,
    lookup: createFairLookup(),
    timeoutMs: CONNECT_MS,
    signal: new AbortController().signal,
  });
  const secure = buildConnector({ timeout: CONNECT_MS });
  const connect: buildConnector.connector = (options, callback) => {
    const isSecure = options.protocol === "https:";
    const host = normalizeHost(options.hostname) ?? options.hostname;
    dial({ host, port: Number(options.port || (isSecure ? 443 : 80)) }).then(
      (socket) => {
        if (isSecure) secure({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error: Error) => callback(error, null),
    );
  };
  return new Agent({ connect });
}

function withLoopback(exceptions: Exceptions): Exceptions {
  return {
    names: exceptions.names,
    covers: (target) =>
      exceptions.covers(target) ||
      (ipaddr.isValid(target.address) && ipaddr.process(target.address).range() === "loopback"),
  };
}
