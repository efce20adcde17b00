import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isPublic } from "../../../egress/addresses.ts";
import type { Exceptions } from "../../../egress/exceptions.ts";
import { parseTarget } from "../../../egress/host.ts";
import { ImageError } from "../../../images/image-error.ts";
import type { Reference } from "../../../images/reference.ts";

/**
 * Rejects a registry with a private address that the operator has not allowed, because the engine would send requests into
 * the private network for whoever names it in an environment. A name that only the engine can resolve is left to it.
 */
export async function assertReachable({ registry }: Reference, exceptions: Exceptions): Promise<void> {
  const target = parseTarget(registry, 443);
  if (!target) return;
  const addresses = isIP(target.host)
    ? [target.host]
    : (await lookup(target.host, { all: true }).catch(() => [])).map(({ address }) => address);
  const refused = addresses.find(
    (address) => !isPublic(address) && !exceptions.covers({ ...target, address }),
  );
  if (refused === undefined) return;
  throw new ImageError(
    "unreachable",
    `The registry ${registry} has the private address ${refused}, which this worker does not allow.`,
    "Use a public registry, or ask the operator to allow the address in OUTRIDER_ALLOW_ADDRESSES.",
  );
}
