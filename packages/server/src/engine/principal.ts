import { type KeyLimits, type KeyType, type Scope, Scope as Scopes } from "@outrider/contract/key";
import type { Me, Role } from "@outrider/contract/person";
import type { RunCreatorInfo } from "@outrider/contract/run";
import type { KeyOwner } from "../store/keys.ts";
import type { SessionOwner } from "../store/sessions.ts";
import { Refusal } from "./refusal.ts";

/** Who asks: a person, or a cloud agent, through one key; or a person through a browser that is signed in. */
export interface Principal {
  creator: RunCreatorInfo;
  role: Role;
  /** The person who answers for what the key does: the owner, or the owner of the cloud agent. */
  personUid: string;
  /** What a cloud agent's runs use where they name nothing themselves. */
  defaults: { model_id?: string; environment_id?: string };
  scopes: Scope[];
  /** The id of the key or the session: streams end with it. */
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
      : { type: "user", uid: owner.person_uid, display_name: owner.person_name, email: owner.email },
    role: isAgent ? "member" : owner.role,
    personUid: owner.person_uid,
    defaults: {
      ...(owner.agent_model_id ? { model_id: owner.agent_model_id } : {}),
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

/** A browser that is signed in may do all that its person may. */
export function principalOfSession(owner: SessionOwner): Principal {
  const { person_uid, person_name, email, role, session_id, signed_in_by, has_password } = owner;
  const { created_at, expires_at } = owner;
  return {
    creator: { type: "user", uid: person_uid, display_name: person_name, email },
    role,
    personUid: person_uid,
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
    if (key?.type !== "worker") throw new Refusal("not_authorized", "Only a worker key may do this.");
    return;
  }
  if (key?.type === "worker") {
    throw new Refusal("not_authorized", "A worker key serves workers only. Use a personal or agent key.");
  }
  if (key && !scopes.includes(scope)) {
    throw new Refusal("not_authorized", `The key lacks the scope \`${scope}\`.`);
  }
  if (scope === "admin" && role !== "admin") {
    throw new Refusal("not_authorized", "Only an admin may do this.");
  }
}

/** An agent key makes no keys, people or cloud agents. */
export function requirePerson({ creator }: Principal) {
  if (creator.type !== "user") {
    throw new Refusal("not_authorized", "An agent key may not do this. Use a personal key.");
  }
}
