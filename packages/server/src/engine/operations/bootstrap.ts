import { v7 as uuidv7 } from "uuid";
import { revokeWorkerKeys } from "../../store/auth/keys.ts";
import { findUserByEmail, insertUser, listUsers, lockAdmins, type User } from "../../store/auth/users.ts";
import type { Db } from "../../store/connection/db.ts";
import { ensureInstallationFact } from "../../store/installation.ts";
import { ApiError } from "../api-error.ts";
import { createLocalWorkerKey, createPersonalKey } from "../auth/keys.ts";
import { type CreatedLink, createSignInLink } from "../auth/sign-in-links.ts";
import type { Vault } from "../auth/vault.ts";

/** Throws if the database was set up with another master key, because its secrets could not be decrypted. */
export async function requireSameMasterKey(db: Db, vault: Vault) {
  const settled = await ensureInstallationFact(db, "master_key_fingerprint", vault.fingerprint);
  if (settled !== vault.fingerprint) {
    throw new Error(
      "This database was set up with another master key. Start with the same OUTRIDER_MASTER_KEY, or with the data folder that contains its master.key.",
    );
  }
}

/**
 * Creates a new installation's first user: an admin with a key and a one-time sign-in link. The key is saved before the
 * transaction commits. If the server crashes in between, the saved key is invalid, and the next start creates the user
 * again.
 */
export async function createFirstUser(
  db: Db,
  saveKey: (raw: string) => Promise<void>,
): Promise<CreatedLink | undefined> {
  return db.begin(async (tx) => {
    await tx`lock table users in share row exclusive mode`;
    if ((await listUsers(tx)).length > 0) return undefined;
    const user: User = {
      uid: uuidv7(),
      email: "admin@localhost",
      display_name: "Admin",
      role: "admin",
    };
    await insertUser(tx, user);
    const { raw } = await createPersonalKey(tx, user, "first key");
    const link = await createSignInLink(tx, user.uid);
    await saveKey(raw);
    return link;
  });
}

const LOCAL_WORKERS = "local workers";

/**
 * Creates a key for this server's local workers, and revokes unused keys from earlier starts. Called each time the
 * server starts.
 */
export async function renewLocalWorkerKey(db: Db): Promise<string> {
  return db.begin(async (tx) => {
    await revokeWorkerKeys(tx, LOCAL_WORKERS);
    const [user] = await lockAdmins(tx);
    return (await createLocalWorkerKey(tx, user as User, LOCAL_WORKERS)).raw;
  });
}

/** Creates a user with a first key and returns the key. Used by the CLI. */
export async function addUser(db: Db, { email, display_name, role }: Omit<User, "uid">): Promise<string> {
  return db.begin(async (tx) => {
    const user = { uid: uuidv7(), email, display_name, role };
    if (!(await insertUser(tx, user)))
      throw new ApiError("conflict", `The email address ${email} is already in use.`);
    return (await createPersonalKey(tx, user, "first key")).raw;
  });
}

/** Creates and returns another key for a user. Used by the CLI. */
export async function addKey(db: Db, email: string, name: string): Promise<string> {
  const user = await findUserByEmail(db, email);
  if (!user) throw new ApiError("resource_not_found", `No user has the email address ${email}.`);
  return (await createPersonalKey(db, user, name)).raw;
}
