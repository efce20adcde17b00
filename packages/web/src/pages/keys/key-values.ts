import type { CreateKeyRequest, KeyType, Scope } from "@outrider/contract/auth/key";
import { expiryOf } from "./expiry.ts";

/** The form's values. The expiry is a number of days, "date" or "never". */
export interface KeyValues {
  type: KeyType;
  agent_uid: string | undefined;
  name: string | undefined;
  scopes: Scope[];
  expiry: string;
  date: string | undefined;
  limits: {
    max_concurrent_runs: number | undefined;
    max_cost_usd_per_day: number | undefined;
    environment_ids: string[];
  };
}

export function keyValues(type: KeyType, agentUid: string | undefined): KeyValues {
  return {
    type,
    agent_uid: agentUid,
    name: undefined,
    scopes: ["runs:read", "runs:write"],
    expiry: type === "worker" ? "never" : "90",
    date: undefined,
    limits: { max_concurrent_runs: undefined, max_cost_usd_per_day: undefined, environment_ids: [] },
  };
}

/**
 * Returns the permissions that a key of this type can have. Only an admin's personal key can have admin permissions.
 */
export function possibleScopes(type: KeyType, isAdmin: boolean): Scope[] {
  return ["runs:read", "runs:write", ...(isAdmin && type === "personal" ? (["admin"] as const) : [])];
}

/** Builds the request. Fields that do not apply to the type of the key are not sent. */
export function keyRequest(values: KeyValues, isAdmin: boolean): Partial<CreateKeyRequest> {
  const { type, agent_uid, name, scopes, expiry, date, limits } = values;
  const { environment_ids, ...amounts } = limits;
  const set = { ...amounts, ...(environment_ids.length > 0 ? { environment_ids } : {}) };
  return {
    type,
    ...(name === undefined ? {} : { name }),
    ...(type === "agent" ? { agent_uid } : {}),
    ...(type === "worker"
      ? {}
      : {
          scopes: possibleScopes(type, isAdmin).filter((scope) => scopes.includes(scope)),
          ...(Object.values(set).some((limit) => limit !== undefined) ? { limits: set } : {}),
        }),
    expires_at: expiryOf(expiry, date),
  };
}
