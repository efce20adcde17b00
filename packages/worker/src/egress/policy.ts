import type { Exceptions } from "./exceptions.ts";
import { authorityOf, type Target } from "./host.ts";
import { matcherOf } from "./names.ts";

/** What an environment says about its network. */
export interface EgressPolicy {
  mode: "open" | "allowlist" | "none";
  allow: string[];
}

/** Why something is not reached, and who could change that. Both are sentences without the full stop. */
export interface Reason {
  reason: string;
  remedy: string;
}

/** ssh, http and https. */
const listPorts = [22, 80, 443];

/**
 * Judges by host and port alone. It comes before any query: the name itself could carry data out to whoever serves its
 * zone. A port that the operator wrote down for a host counts as one of the list's.
 */
export function policyCheck(
  { mode, allow }: EgressPolicy,
  exceptions: Exceptions,
): (target: Target) => Reason | undefined {
  const matchers = allow.map((pattern) => {
    const matcher = matcherOf(pattern);
    if (!matcher)
      throw new Error(`${JSON.stringify(pattern)} is no domain like example.com or *.example.com`);
    return matcher;
  });
  if (mode === "open") return () => undefined;
  if (mode === "none") return () => noNetwork;
  return (target) => {
    if (!matchers.some((matches) => matches(target.host))) return notListed(target);
    if (!listPorts.includes(target.port) && !exceptions.names(target)) return wrongPort(target);
    return undefined;
  };
}

const noNetwork: Reason = {
  reason: "the environment has no network",
  remedy: "Its owner can set `network.mode` to `allowlist` or `open`",
};

function notListed({ host }: Target): Reason {
  return {
    reason: "it is not among the environment's allowed domains",
    remedy: `The environment's owner can add \`${host}\` to \`network.allow\``,
  };
}

function wrongPort(target: Target): Reason {
  return {
    reason: `with a list of allowed domains only the ports ${listPorts.join(", ")} are open`,
    remedy: `The environment's owner can set \`network.mode\` to \`open\`, or the operator can make an exception for \`${authorityOf(target)}\``,
  };
}
