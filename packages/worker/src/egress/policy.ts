import type { Exceptions } from "./exceptions.ts";
import { formatAuthority, type Target } from "./host.ts";
import { compileHostPattern } from "./host-pattern.ts";

/** An environment's network policy. */
export interface EgressPolicy {
  mode: "open" | "allowlist" | "none";
  /** Hosts such as `example.com`, `*.example.com` and `db.example.com:5432`. */
  allow: string[];
}

/** Says why a target is refused and who can change that. Both texts are sentences without a final period. */
export interface RefusalReason {
  reason: string;
  remedy: string;
}

/** The ports that an entry without a port permits: SSH, HTTP and HTTPS. */
const allowlistPorts = [22, 80, 443];

/**
 * Returns a function that checks a target by host and port. The check runs before any DNS query, because a query could
 * leak data to the server of the queried zone. Ports that the operator lists for a host are permitted too.
 */
export function createPolicyCheck(
  { mode, allow }: EgressPolicy,
  exceptions: Exceptions,
): (target: Target) => RefusalReason | undefined {
  const entries = allow.map(compileEntry);
  if (mode === "open") return () => undefined;
  if (mode === "none") return () => noNetwork;
  return (target) => {
    const matching = entries.filter(({ matches }) => matches(target.host));
    if (matching.length === 0) return notListed(target);
    const isPermitted = matching.some(({ ports }) => ports.includes(target.port)) || exceptions.names(target);
    return isPermitted
      ? undefined
      : wrongPort(
          target,
          matching.flatMap(({ ports }) => ports),
        );
  };
}

/** An entry with a port permits exactly that port. */
function compileEntry(entry: string): { matches(host: string): boolean; ports: readonly number[] } {
  const [, pattern = entry, port] = /^(\[[^\]]+\]|[^:]*):(\d{1,5})$/.exec(entry) ?? [];
  const matches = compileHostPattern(pattern);
  if (!matches)
    throw new Error(
      `${JSON.stringify(entry)} is not a domain like example.com, *.example.com or db.example.com:5432`,
    );
  return { matches, ports: port === undefined ? allowlistPorts : [Number(port)] };
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

function wrongPort(target: Target, ports: number[]): RefusalReason {
  const permitted = [...new Set(ports)].sort((a, b) => a - b);
  return {
    reason: `the environment's allowlist permits only ${permitted.length === 1 ? "port" : "the ports"} ${permitted.join(", ")} of this host`,
    remedy: `The environment's owner can add \`${formatAuthority(target)}\` to \`network.allow\``,
  };
}
