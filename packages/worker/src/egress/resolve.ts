import { isIP } from "node:net";
import { isOwn, isPublic } from "./addresses.ts";
import type { Exceptions } from "./exceptions.ts";
import { RefusedError, UnreachableError } from "./failures.ts";
import { hostOf, type Target } from "./host.ts";
import type { Lookup } from "./lookup.ts";

export interface ResolveOptions {
  exceptions: Exceptions;
  lookup: Lookup;
  timeoutMs: number;
}

/**
 * The addresses of a target that may be reached. Whoever connects must connect to one of these and not ask again: a
 * second answer may differ from the one that was checked. The refusal does not say which address it was, or a sandbox
 * could ask us what stands in the operator's own DNS.
 */
export async function resolve(target: Target, options: ResolveOptions): Promise<string[]> {
  const { exceptions } = options;
  const found = isIP(target.host) ? [target.host] : await ask(target.host, options);
  const addresses = found.map((address) => hostOf(address) ?? "").filter((address) => isIP(address) !== 0);
  const allowed = addresses.filter(
    (address) => exceptions.covers({ ...target, address }) || (isPublic(address) && !isOwn(address)),
  );
  if (allowed.length > 0) return allowed;
  if (addresses.length === 0) throw new UnreachableError(502, "the name has no address");
  throw new RefusedError({
    reason: "it leads to a private, reserved or metadata address, or to this machine",
    remedy: "Only the operator of Outrider can make an exception",
  });
}

async function ask(name: string, { lookup, timeoutMs }: ResolveOptions): Promise<string[]> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new UnreachableError(504, "resolving the name took too long")),
    timeoutMs,
  );
  try {
    return await Promise.race([lookup(name), late]);
  } catch (error) {
    if (error instanceof UnreachableError) throw error;
    throw new UnreachableError(502, "the name cannot be resolved", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
