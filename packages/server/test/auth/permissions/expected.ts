import type { Scope } from "@outrider/contract/auth/key";
import type { Caller } from "./callers.ts";
import type { Rule, WorkerRule } from "./rules.ts";

/** A class of statuses: success, or one of the errors for callers without permission. */
export type Outcome = "success" | 401 | 403 | 404;

/** Determines the outcome from the caller, the scope in the route table and the operation's rule. */
export function expectedOutcome(
  caller: Caller,
  { method, scope }: { method: string; scope: Scope },
  rule: Rule,
): Outcome {
  const { kind, role, scopes = [] } = caller;
  if (kind === "nobody") return 401;
  if (kind === "worker" || (caller.isCrossSite && method !== "GET")) return 403;
  if (!scopes.includes(scope) || (scope === "admin" && role !== "admin")) return 403;
  if (rule.alsoNeeds && !scopes.includes(rule.alsoNeeds)) return 403;
  if (rule.createsCredential && caller.hasLimits) return 403;
  if (rule.environment === "managed" && caller.environment) return 403;
  if (rule.environment === "named" && caller.environment === "elsewhere") return 403;
  if (rule.environment === "hidden" && caller.environment === "elsewhere") return 404;
  return hasAccess(caller, rule.access);
}

export function expectedWorkerOutcome(caller: Caller, { otherKey }: WorkerRule): Outcome {
  if (caller.kind === "nobody") return 401;
  if (caller.kind !== "worker") return 403;
  return caller.identity === "worker" ? "success" : otherKey;
}

function hasAccess({ kind, identity, role, scopes }: Caller, access: Rule["access"]): Outcome {
  const isAdmin = role === "admin" && scopes?.includes("admin");
  const isOwner = isAdmin || identity === "member";
  switch (access) {
    case undefined:
      return "success";
    case "is user":
      return kind === "agent" ? 403 : "success";
    case "owns agent":
    case "owns shared":
      return isOwner ? "success" : 403;
    case "owns key":
      if (kind === "agent") return 403;
      return isOwner ? "success" : 404;
    case "sees run":
      return identity === "otherAgent" ? 404 : "success";
    case "decides":
      if (identity === "otherAgent") return 404;
      return isOwner ? "success" : 403;
    case "steers run":
      if (identity === "otherAgent") return 404;
      return isOwner || identity === "agent" ? "success" : 403;
  }
}
