import { connect, type Socket } from "node:net";
import type { Exceptions } from "./exceptions.ts";
import { RefusedError, UnreachableError } from "./failures.ts";
import type { Target } from "./host.ts";
import type { Lookup } from "./lookup.ts";
import { type EgressPolicy, policyCheck } from "./policy.ts";
import { resolve } from "./resolve.ts";

export interface DialOptions {
  policy: EgressPolicy;
  exceptions: Exceptions;
  lookup: Lookup;
  timeoutMs: number;
  /** Aborts what is under way when the proxy closes. */
  signal: AbortSignal;
}

export type Dial = (target: Target) => Promise<Socket>;

const addressesTried = 4;

/**
 * The one way out: policy, then resolution, then a connection to an address that was checked. Rejects with RefusedError
 * or UnreachableError.
 */
export function createDial({ policy, exceptions, lookup, timeoutMs, signal }: DialOptions): Dial {
  const refusalOf = policyCheck(policy, exceptions);
  return async (target) => {
    const refusal = refusalOf(target);
    if (refusal) throw new RefusedError(refusal);
    const addresses = await resolve(target, { exceptions, lookup, timeoutMs });
    let failure = new UnreachableError(502, "the proxy is closing");
    for (const address of addresses.slice(0, addressesTried)) {
      if (signal.aborted) break;
      try {
        return await reach({ address, port: target.port, timeoutMs, signal });
      } catch (error) {
        failure = error as UnreachableError;
      }
    }
    throw failure;
  };
}

function reach({
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
    const timer = setTimeout(() => fail(new UnreachableError(504, "no connection in time")), timeoutMs);
    const fail = (error: UnreachableError) => {
      settle();
      socket.on("error", () => {}).destroy();
      reject(error);
    };
    const failed = (cause: NodeJS.ErrnoException) =>
      fail(new UnreachableError(502, `no connection (${cause.code ?? "failed"})`, { cause }));
    const closing = () => fail(new UnreachableError(502, "the proxy is closing"));
    const settle = () => {
      clearTimeout(timer);
      socket.off("error", failed);
      signal.removeEventListener("abort", closing);
    };
    signal.addEventListener("abort", closing, { once: true });
    socket.once("error", failed);
    socket.once("connect", () => {
      settle();
      resolve(socket);
    });
  });
}
