import {
  type CreateKeyRequest,
  type Key,
  type KeyType,
  keyPrefixes,
  type Scope,
} from "@outrider/contract/key";
import { v7 as uuidv7 } from "uuid";
import type { Sql } from "../store/db.ts";
import { findEnvironment } from "../store/environments.ts";
import { findIdentity } from "../store/identities.ts";
import { findKey, insertKey, revokeKey } from "../store/keys.ts";
import type { Person } from "../store/people.ts";
import { isAdmin, type Principal, requirePerson, scopesOf } from "./principal.ts";
import { badMember, notFound, Refusal } from "./refusal.ts";
import { hashToken, newToken } from "./tokens.ts";

const SHOWN = 10;

const prefixes = Object.values(keyPrefixes);

/** What is stored of a key; undefined for a text that cannot be one. */
export function hashKey(raw: string): Buffer | undefined {
  return hashToken(raw, prefixes);
}

export interface MadeKey {
  key: Key;
  raw: string;
}

interface KeyPlan {
  type: KeyType;
  name: string;
  person_uid: string;
  agent_uid?: string | undefined;
  scopes: Scope[];
  limits?: CreateKeyRequest["limits"];
  expires_at?: string | undefined;
  is_local?: boolean;
}

async function storeKey(sql: Sql, plan: KeyPlan): Promise<MadeKey> {
  const raw = newToken(keyPrefixes[plan.type]);
  const hash = hashKey(raw) as Buffer;
  const key = await insertKey(sql, { ...plan, key_id: uuidv7(), hash, prefix: raw.slice(0, SHOWN) });
  return { key, raw };
}

/** A person's key with all that the person may do; for the first start and the CLI. */
export async function createPersonalKey(sql: Sql, person: Person, name: string): Promise<MadeKey> {
  return storeKey(sql, {
    type: "personal",
    name,
    person_uid: person.uid,
    scopes: scopesOf(person.role),
  });
}

/** For the workers that a server starts itself; nobody else gets to see it. */
export async function createLocalWorkerKey(sql: Sql, person: Person, name: string): Promise<MadeKey> {
  return storeKey(sql, { type: "worker", name, person_uid: person.uid, scopes: [], is_local: true });
}

/** A key never makes a key that may do more, or lasts longer, than itself. A session's end bounds no key. */
export async function createKey(sql: Sql, principal: Principal, request: CreateKeyRequest): Promise<MadeKey> {
  requirePerson(principal);
  if (principal.key?.limits) {
    throw new Refusal("not_authorized", "A key with limits may not make keys.");
  }
  const { name, type, agent_uid, limits } = request;
  if (type === "worker" && !isAdmin(principal))
    throw new Refusal("not_authorized", "Only an admin may make worker keys.");
  const person_uid = agent_uid ? await ownerOfAgent(sql, principal, agent_uid) : principal.personUid;
  for (const [index, id] of (limits?.environment_ids ?? []).entries()) {
    if (!(await findEnvironment(sql, id))) {
      throw badMember(`/limits/environment_ids/${index}`, "names no environment, or a deleted one");
    }
  }
  const possible = principal.scopes.filter((scope) => type === "personal" || scope !== "admin");
  const refused = request.scopes?.find(
    (scope) => !possible.includes(scope) || (scope === "admin" && !isAdmin(principal)),
  );
  if (refused)
    throw badMember("/scopes", `asks for \`${refused}\`, which the caller lacks`, "not_authorized");
  return storeKey(sql, {
    type,
    name,
    person_uid,
    agent_uid,
    scopes: type === "worker" ? [] : (request.scopes ?? possible),
    limits,
    expires_at: expiry(principal, request.expires_at),
  });
}

async function ownerOfAgent(sql: Sql, principal: Principal, agentUid: string): Promise<string> {
  const agent = await findIdentity(sql, agentUid);
  if (!agent) throw badMember("/agent_uid", "names no cloud agent, or a deleted one");
  if (agent.owner_uid !== principal.personUid && !isAdmin(principal)) {
    throw badMember("/agent_uid", "names somebody else's cloud agent", "not_authorized");
  }
  return agent.owner_uid;
}

function expiry({ key }: Principal, asked: string | undefined): string | undefined {
  if (!asked) return key?.expires_at;
  const time = new Date(asked).getTime();
  if (time <= Date.now()) throw badMember("/expires_at", "lies in the past");
  if (key?.expires_at && time > Date.parse(key.expires_at)) {
    throw badMember("/expires_at", "lies behind the expiry of the calling key", "not_authorized");
  }
  return asked;
}

export async function revoke(sql: Sql, principal: Principal, keyId: string): Promise<void> {
  requirePerson(principal);
  const key = await findKey(sql, keyId);
  if (!key || (key.person_uid !== principal.personUid && !isAdmin(principal))) throw notFound("key");
  await revokeKey(sql, keyId);
}
