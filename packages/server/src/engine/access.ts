import type { Sql } from "../store/db.ts";
import { findIdentity } from "../store/identities.ts";
import type { RunCreator } from "../store/runs.ts";
import { isAdmin, type Principal } from "./principal.ts";
import { notFound, Refusal } from "./refusal.ts";

/** An agent key sees its cloud agent's runs; people see all. */
export function visibleTo({ creator }: Principal): string | undefined {
  return creator.type === "service_account" ? creator.uid : undefined;
}

export function requireVisible(principal: Principal, owner: RunCreator) {
  const only = visibleTo(principal);
  if (only !== undefined && only !== owner.uid) throw notFound("run");
}

/** Members steer their own runs and their cloud agents'; admins steer all. */
export async function requireSteering(sql: Sql, principal: Principal, owner: RunCreator) {
  if (owner.uid === principal.creator.uid || isAdmin(principal)) return;
  if (owner.type === "service_account" && principal.creator.type === "user") {
    const agent = await findIdentity(sql, owner.uid);
    if (agent?.owner_uid === principal.personUid) return;
  }
  throw new Refusal(
    "not_authorized",
    "This run belongs to somebody else. Its creator or an admin may steer it.",
  );
}
