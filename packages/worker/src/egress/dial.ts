import { connect, type Socket } from "node:net";
import { RefusedError, UnreachableError } from "./egress-errors.ts";
import type { Exceptions } from "./exceptions.ts";
import type { Lookup } from "./fair-lookup.ts";
import type { Target } from "./host.ts";
import { createPolicyCheck, type EgressPolicy } from "./policy.ts";
import { resolveTarget } from "./resolve.ts";

export interface DialOptions {
  policy: EgressPolicy;
  exceptions: Exceptions;
  lookup: Lookup;
  timeoutMs: number;
  /** Aborts pending connections when the proxy closes. */
  signal: AbortSignal;
}

export type Dial = (target: Target) => Promise<Socket>;

const maxAddresses = 4;

/**
 * Returns the function that opens all outbound connections. It applies the policy, resolves the name, and connects only
 * to an address that it has checked. It rejects with a RefusedError or an UnreachableError.
 */
export function createDial({ policy, exceptions, lookup, timeoutMs, signal }: DialOptions): Dial {
  const checkPolicy = createPolicyCheck(policy, exceptions);
  return async (target) => {
    const refusal = checkPolicy(target);
    if (refusal) throw new RefusedError(refusal);
    const addresses = await resolveTarget(target, { exceptions, lookup, timeoutMs });
    let failure = new UnreachableError(502, "the proxy is closing");
    for (const address of addresses.slice(0, maxAddresses)) {
      if (signal.aborted) break;
      try {
        return await connectTo({ address, port: target.port, timeoutMs, signal });
      } catch (error) {
        failure = error as UnreachableError;
      }
    }
    throw failure;
  };
}

function connectTo({
  address,
  port,
  timeoutMs,
  signal,
}: {
  address: string;
  port: number;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => fail(new UnreachableError(504, "the connection timed out")), timeoutMs);
    const fail = (error: UnreachableError) => {
      cleanUp();
      socket.on("error", () => {}).destroy();
      reject(error);
    };
    const onError = (cause: NodeJS.ErrnoException) =>
      fail(new UnreachableError(502, `the connection failed (${cause.code ?? "unknown error"})`, { cause }));
    const onAbort = () => fail(new UnreachableError(502, "the proxy is closing"));
    const cleanUp = () => {
      clearTimeout(timer);
      socket.off("error", onError);
      signal.removeEventListener("abort", onAbort);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", onError);
    socket.once("connect", () => {
      cleanUp();
      resolve(socket);
    });
  });
}
