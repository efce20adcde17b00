import { findIdentity } from "../../store/auth/identities.ts";
import type { Sql } from "../../store/connection/db.ts";
import type { RunCreator, RunOwnership } from "../../store/runs/runs.ts";
import { ApiError, notFound } from "../api-error.ts";
import { mayUseEnvironment, usableEnvironments } from "./environment-access.ts";
import { isAdmin, type Principal } from "./principal.ts";

/** The runs that a caller may see. An absent field does not restrict them. */
export interface VisibleRuns {
  /** The only creator whose runs are visible. An agent key is limited to its own agent's runs. */
  visible_to?: string;
  /** The only environments whose runs are visible. */
  visible_environments?: string[];
}

export function visibleRuns(principal: Principal): VisibleRuns {
  const { creator } = principal;
  const environments = usableEnvironments(principal);
  return {
    ...(creator.type === "service_account" ? { visible_to: creator.uid } : {}),
    ...(environments ? { visible_environments: environments } : {}),
  };
}

export function requireVisible(principal: Principal, { creator, environment_id }: RunOwnership) {
  const { visible_to: only = creator.uid } = visibleRuns(principal);
  if (only === creator.uid && mayUseEnvironment(principal, environment_id)) return;
  throw notFound("run");
}

/**
 * Throws if the caller may not steer the run. Members can steer their own runs and those of their cloud agents; admins
 * can steer all runs.
 */
export async function requireSteering(sql: Sql, principal: Principal, owner: RunCreator) {
  if (owner.uid === principal.creator.uid || isAdmin(principal)) return;
  if (owner.type === "service_account" && principal.creator.type === "user") {
    const agent = await findIdentity(sql, owner.uid);
    if (agent?.owner_uid === principal.userUid) return;
  }
  throw new ApiError("not_authorized", "You cannot change another user's run. Ask its creator or an admin.");
}
