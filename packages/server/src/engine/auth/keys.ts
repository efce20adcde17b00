import {
  type CreateKeyRequest,
  type Key,
  type KeyType,
  keyPrefixes,
  type Scope,
} from "@outrider/contract/auth/key";
import { v7 as uuidv7 } from "uuid";
import { findIdentity } from "../../store/auth/identities.ts";
import { findKey, insertKey, revokeKey } from "../../store/auth/keys.ts";
import type { User } from "../../store/auth/users.ts";
import type { Sql } from "../../store/connection/db.ts";
import { findEnvironment } from "../../store/environments.ts";
import { ApiError, invalidField, notFound } from "../api-error.ts";
import { isAdmin, type Principal, requireNoLimits, requireUser, scopesOf } from "./principal.ts";
import { hashToken, newToken } from "./tokens.ts";

/** The number of leading characters that are stored in plain text, so that users can recognize a key. */
const VISIBLE_PREFIX = 10;

const prefixes = Object.values(keyPrefixes);

/** Hashes a key for storage or lookup. Returns undefined if the text is not a well-formed key. */
export function hashKey(raw: string): Buffer | undefined {
  return hashToken(raw, prefixes);
}

export interface CreatedKey {
  key: Key;
  raw: string;
}

interface KeyOptions {
  type: KeyType;
  name: string;
  user_uid: string;
  agent_uid?: string | undefined;
  scopes: Scope[];
  limits?: CreateKeyRequest["limits"];
  expires_at?: string | undefined;
  is_local?: boolean;
}

async function storeKey(sql: Sql, options: KeyOptions): Promise<CreatedKey> {
  const raw = newToken(keyPrefixes[options.type]);
  const hash = hashKey(raw) as Buffer;
  const key = await insertKey(sql, {
    ...options,
    key_id: uuidv7(),
    hash,
    prefix: raw.slice(0, VISIBLE_PREFIX),
  });
  return { key, raw };
}

/** Creates a key with all scopes of the user's role. Used by the CLI and when the server first starts. */
export async function createPersonalKey(sql: Sql, user: User, name: string): Promise<CreatedKey> {
  return storeKey(sql, {
    type: "personal",
    name,
    user_uid: user.uid,
    scopes: scopesOf(user.role),
  });
}

/** Creates a key for the workers that a server starts itself. No user ever sees this key. */
export async function createLocalWorkerKey(sql: Sql, user: User, name: string): Promise<CreatedKey> {
  return storeKey(sql, { type: "worker", name, user_uid: user.uid, scopes: [], is_local: true });
}

/**
 * Creates a key. If the caller uses a key, the new key cannot have more scopes or a later expiry than the caller's key.
 * A session's expiry does not limit the new key.
 */
export async function createKey(
  sql: Sql,
  principal: Principal,
  request: CreateKeyRequest,
): Promise<CreatedKey> {
  requireUser(principal);
  requireNoLimits(principal, "create keys");
  const { name, type, agent_uid, limits } = request;
  if (type === "worker" && !isAdmin(principal))
    throw new ApiError("not_authorized", "Only an admin can create worker keys.");
  const user_uid = agent_uid ? await ownerOfAgent(sql, principal, agent_uid) : principal.userUid;
  for (const [index, id] of (limits?.environment_ids ?? []).entries()) {
    if (!(await findEnvironment(sql, id))) {
      throw invalidField(`/limits/environment_ids/${index}`, "must be the ID of an existing environment");
    }
  }
  const available = principal.scopes.filter((scope) => type === "personal" || scope !== "admin");
  const refused = request.scopes?.find(
    (scope) => !available.includes(scope) || (scope === "admin" && !isAdmin(principal)),
  );
  if (refused)
    throw invalidField(
      "/scopes",
      `includes \`${refused}\`, which the caller does not have`,
      "not_authorized",
    );
  return storeKey(sql, {
    type,
    name,
    user_uid,
    agent_uid,
    scopes: type === "worker" ? [] : (request.scopes ?? available),
    limits,
    expires_at: expiry(principal, request.expires_at),
  });
}

async function ownerOfAgent(sql: Sql, principal: Principal, agentUid: string): Promise<string> {
  const agent = await findIdentity(sql, agentUid);
  if (!agent) throw invalidField("/agent_uid", "must be the ID of an existing cloud agent");
  if (agent.owner_uid !== principal.userUid && !isAdmin(principal)) {
    throw invalidField("/agent_uid", "must be one of your own cloud agents", "not_authorized");
  }
  return agent.owner_uid;
}

function expiry({ key }: Principal, requested: string | undefined): string | undefined {
  if (!requested) return key?.expires_at;
  const time = new Date(requested).getTime();
  if (time <= Date.now()) throw invalidField("/expires_at", "must be in the future");
  if (key?.expires_at && time > Date.parse(key.expires_at)) {
    throw invalidField(
      "/expires_at",
      "must not be later than the expiry of the calling key",
      "not_authorized",
    );
  }
  return requested;
}

export async function revoke(sql: Sql, principal: Principal, keyId: string): Promise<void> {
  requireUser(principal);
  const key = await findKey(sql, keyId);
  if (!key || (key.user_uid !== principal.userUid && !isAdmin(principal))) throw notFound("key");
  await revokeKey(sql, keyId);
}
