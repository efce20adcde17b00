import type { Exceptions } from "./exceptions.ts";
import { formatAuthority, type Target } from "./host.ts";
import { compileHostPattern } from "./host-pattern.ts";

/** An environment's network policy. */
export interface EgressPolicy {
  mode: "open" | "allowlist" | "none";
  allow: string[];
}

/** Says why a target is refused and who can change that. Both texts are sentences without a final period. */
export interface RefusalReason {
  reason: string;
  remedy: string;
}

/** The ports that an allowlist permits: SSH, HTTP and HTTPS. */
const allowlistPorts = [22, 80, 443];

/**
 * Returns a function that checks a target by host and port. The check runs before any DNS query, because a query could
 * leak data to the server of the queried zone. Ports that the operator lists for a host are permitted too.
 */
export function createPolicyCheck(
  { mode, allow }: EgressPolicy,
  exceptions: Exceptions,
): (target: Target) => RefusalReason | undefined {
  const matchers = allow.map((pattern) => {
    const matcher = compileHostPattern(pattern);
    if (!matcher)
      throw new Error(`${JSON.stringify(pattern)} is not a domain like example.com or *.example.com`);
    return matcher;
  });
  if (mode === "open") return () => undefined;
  if (mode === "none") return () => noNetwork;
  return (target) => {
    if (!matchers.some((matches) => matches(target.host))) return notListed(target);
    if (!allowlistPorts.includes(target.port) && !exceptions.names(target)) return wrongPort(target);
    return undefined;
  };
}

const noNetwork: RefusalReason = {
  reason: "the environment has no network",
  remedy: "Its owner can set `network.mode` to `allowlist` or `open`",
};

function notListed({ host }: Target): RefusalReason {
  return {
    reason: "it is not in the environment's allowlist",
    remedy: `The environment's owner can add \`${host}\` to \`network.allow\``,
  };
}

function wrongPort(target: Target): RefusalReason {
  return {
    reason: `an allowlist permits only the ports ${allowlistPorts.join(", ")}`,
    remedy: `The environment's owner can set \`network.mode\` to \`open\`, or the operator can add an exception for \`${formatAuthority(target)}\``,
  };
}
