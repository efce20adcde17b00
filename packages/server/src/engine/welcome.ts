import { v7 as uuidv7 } from "uuid";
import type { Db } from "../store/db.ts";
import { settleFact } from "../store/installation.ts";
import { revokeWorkerKeys } from "../store/keys.ts";
import { findPersonByEmail, insertPerson, listPeople, lockAdmins, type Person } from "../store/people.ts";
import { createLocalWorkerKey, createPersonalKey } from "./keys.ts";
import { Refusal } from "./refusal.ts";
import { type MadeLink, makeSignInLink } from "./sign-in-links.ts";
import type { Vault } from "./vault.ts";

/** Two servers on one database must share the master key, or neither could read the other's secrets. */
export async function requireSameMasterKey(db: Db, vault: Vault) {
  const settled = await settleFact(db, "master_key_fingerprint", vault.fingerprint);
  if (settled !== vault.fingerprint) {
    throw new Error(
      "This database was set up with another master key. Start with the same OUTRIDER_MASTER_KEY, or with the data folder that holds its master.key.",
    );
  }
}

/**
 * A fresh installation gets its first person, an admin, with a key and a one-time link to sign in with. The key is kept
 * before the transaction ends: a crash in between leaves a key that opens nothing, and the next start tries again.
 */
export async function welcomeFirstPerson(
  db: Db,
  keepKey: (raw: string) => Promise<void>,
): Promise<MadeLink | undefined> {
  return db.begin(async (tx) => {
    await tx`lock table people in share row exclusive mode`;
    if ((await listPeople(tx)).length > 0) return undefined;
    const person: Person = {
      uid: uuidv7(),
      email: "admin@localhost",
      display_name: "Admin",
      role: "admin",
    };
    await insertPerson(tx, person);
    const { raw } = await createPersonalKey(tx, person, "first key");
    const link = await makeSignInLink(tx, person.uid);
    await keepKey(raw);
    return link;
  });
}

const LOCAL_WORKERS = "local workers";

/** Workers that come with a server get a key of their own at each start; keys of starts long past are revoked. */
export async function renewLocalWorkerKey(db: Db): Promise<string> {
  return db.begin(async (tx) => {
    await revokeWorkerKeys(tx, LOCAL_WORKERS);
    const [person] = await lockAdmins(tx);
    return (await createLocalWorkerKey(tx, person as Person, LOCAL_WORKERS)).raw;
  });
}

/** For the CLI: a person with a first key, which is shown once. */
export async function addPerson(db: Db, { email, display_name, role }: Omit<Person, "uid">): Promise<string> {
  return db.begin(async (tx) => {
    const person = { uid: uuidv7(), email, display_name, role };
    if (!(await insertPerson(tx, person)))
      throw new Refusal("conflict", `${email} is somebody's address already.`);
    return (await createPersonalKey(tx, person, "first key")).raw;
  });
}

/** For the CLI: another key for somebody who has lost theirs. */
export async function addKey(db: Db, email: string, name: string): Promise<string> {
  const person = await findPersonByEmail(db, email);
  if (!person) throw new Refusal("resource_not_found", `Nobody has the address ${email}.`);
  return (await createPersonalKey(db, person, name)).raw;
}
