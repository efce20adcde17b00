import type { ReasoningEffort } from "@outrider/contract/agent-config";
import { type KeyLimits, type KeyType, type Scope, Scope as Scopes } from "@outrider/contract/auth/key";
import type { Me, Role } from "@outrider/contract/auth/user";
import type { RunCreatorInfo } from "@outrider/contract/run";
import type { KeyOwner } from "../../store/auth/keys.ts";
import type { SessionOwner } from "../../store/auth/sessions.ts";
import { ApiError } from "../api-error.ts";

/** The authenticated caller: a user or cloud agent with a key, or a user with a browser session. */
export interface Principal {
  creator: RunCreatorInfo;
  role: Role;
  /** The user who is responsible for the key: the key's owner, or the cloud agent's owner. */
  userUid: string;
  /** Defaults for a cloud agent's runs. */
  defaults: {
    model_id?: string;
    reasoning_effort?: ReasoningEffort;
    harness?: string;
    environment_id?: string;
  };
  scopes: Scope[];
  /** The ID of the key or session. Open streams end when that credential becomes invalid. */
  credentialId: string;
  key?: {
    key_id: string;
    name: string;
    type: KeyType;
    scopes: Scope[];
    limits?: KeyLimits;
    expires_at?: string;
  };
  session?: NonNullable<Me["session"]>;
}

export function principalOf(owner: KeyOwner): Principal {
  const isAgent = owner.agent_uid !== null;
  return {
    creator: isAgent
      ? { type: "service_account", uid: owner.agent_uid as string, display_name: owner.agent_name as string }
      : { type: "user", uid: owner.user_uid, display_name: owner.user_name, email: owner.email },
    role: isAgent ? "member" : owner.role,
    userUid: owner.user_uid,
    defaults: {
      ...(owner.agent_model_id ? { model_id: owner.agent_model_id } : {}),
      ...(owner.agent_reasoning_effort ? { reasoning_effort: owner.agent_reasoning_effort } : {}),
      ...(owner.agent_harness ? { harness: owner.agent_harness } : {}),
      ...(owner.agent_environment_id ? { environment_id: owner.agent_environment_id } : {}),
    },
    scopes: owner.scopes,
    credentialId: owner.key_id,
    key: {
      key_id: owner.key_id,
      name: owner.key_name,
      type: owner.key_type,
      scopes: owner.scopes,
      ...(owner.limits ? { limits: owner.limits } : {}),
      ...(owner.expires_at ? { expires_at: owner.expires_at } : {}),
    },
  };
}

/** A session has all of its user's permissions. */
export function principalOfSession(owner: SessionOwner): Principal {
  const { user_uid, user_name, email, role, session_id, signed_in_by, has_password } = owner;
  const { created_at, expires_at } = owner;
  return {
    creator: { type: "user", uid: user_uid, display_name: user_name, email },
    role,
    userUid: user_uid,
    defaults: {},
    scopes: scopesOf(role),
    credentialId: session_id,
    session: { session_id, signed_in_by, has_password, created_at, expires_at },
  };
}

export function scopesOf(role: Role): Scope[] {
  return Scopes.options.filter((scope) => role === "admin" || scope !== "admin");
}

export function isAdmin({ role, scopes }: Principal): boolean {
  return role === "admin" && scopes.includes("admin");
}

export function requireScope(principal: Principal, scope: Scope | "worker") {
  const { key, role, scopes } = principal;
  if (scope === "worker") {
    if (key?.type !== "worker") throw new ApiError("not_authorized", "This requires a worker key.");
    return;
  }
  if (key?.type === "worker") {
    throw new ApiError("not_authorized", "A worker key cannot be used here. Use a personal or agent key.");
  }
  if (key && !scopes.includes(scope)) {
    throw new ApiError("not_authorized", `The key does not have the scope \`${scope}\`.`);
  }
  if (scope === "admin" && role !== "admin") {
    throw new ApiError("not_authorized", "This requires an admin.");
  }
}

/** Throws for a key with limits, because a credential that it creates would not have these limits. */
export function requireNoLimits({ key }: Principal, action: string) {
  if (key?.limits) throw new ApiError("not_authorized", `A key with limits cannot ${action}.`);
}

/** Throws for agent keys, which cannot manage keys, users or cloud agents. */
export function requireUser({ creator }: Principal) {
  if (creator.type !== "user") {
    throw new ApiError("not_authorized", "An agent key cannot be used here. Use a personal key.");
  }
}
