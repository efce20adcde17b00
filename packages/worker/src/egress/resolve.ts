import { isIP } from "node:net";
import { isOwnAddress, isPublic } from "./addresses.ts";
import { RefusedError, UnreachableError } from "./egress-errors.ts";
import type { Exceptions } from "./exceptions.ts";
import type { Lookup } from "./fair-lookup.ts";
import { normalizeHost, type Target } from "./host.ts";

export interface ResolveOptions {
  exceptions: Exceptions;
  lookup: Lookup;
  timeoutMs: number;
}

/**
 * Returns the target's addresses that may be reached. The caller must connect to one of them and must not resolve the
 * name again, because a second answer may differ from the checked one. A refusal does not include the address;
 * otherwise a sandbox could read the operator's internal DNS.
 */
export async function resolveTarget(target: Target, options: ResolveOptions): Promise<string[]> {
  const { exceptions } = options;
  const found = isIP(target.host) ? [target.host] : await lookupWithTimeout(target.host, options);
  const addresses = found
    .map((address) => normalizeHost(address) ?? "")
    .filter((address) => isIP(address) !== 0);
  const allowed = addresses.filter(
    (address) => exceptions.covers({ ...target, address }) || (isPublic(address) && !isOwnAddress(address)),
  );
  if (allowed.length > 0) return allowed;
  if (addresses.length === 0) throw new UnreachableError(502, "the name has no address");
  throw new RefusedError({
    reason: "it resolves to a private, reserved or metadata address, or to this machine",
    remedy: "Only the operator of Outrider can add an exception",
  });
}

async function lookupWithTimeout(name: string, { lookup, timeoutMs }: ResolveOptions): Promise<string[]> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new UnreachableError(504, "resolving the name timed out")),
    timeoutMs,
  );
  try {
    return await Promise.race([lookup(name), timeout]);
  } catch (error) {
    if (error instanceof UnreachableError) throw error;
    throw new UnreachableError(502, "the name cannot be resolved", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
