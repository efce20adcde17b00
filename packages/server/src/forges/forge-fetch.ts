import { OutboundError } from "../outbound/outbound-error.ts";
import type { OutboundFetch, OutboundFetchOptions, OutboundNetwork } from "../outbound/outbound-network.ts";
import { ForgeError } from "./forge-client.ts";

/** A `fetch` for calls to a forge. It throws a ForgeError if there is no complete response. */
export type ForgeFetch = OutboundFetch;

export function openForgeFetch(network: OutboundNetwork, options: OutboundFetchOptions = {}): ForgeFetch {
  const fetch = network.fetch(options);
  return (url, init) =>
    fetch(url, init).catch((cause) => {
      throw cause instanceof OutboundError ? new ForgeError(cause.code, cause.message, { cause }) : cause;
    });
}
