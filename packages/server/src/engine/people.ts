import { limits } from "@outrider/contract/limits";
import type { InvitePersonRequest, Person, UpdatePersonRequest } from "@outrider/contract/person";
import { v7 as uuidv7 } from "uuid";
import type { Tx } from "../store/db.ts";
import { handOverIdentities } from "../store/identities.ts";
import { revokeKeysOf } from "../store/keys.ts";
import { deletePerson, findPerson, insertPerson, lockAdmins, updatePerson } from "../store/people.ts";
import { endSessions } from "../store/sessions.ts";
import { deleteSignInLink } from "../store/sign-in-links.ts";
import type { Principal } from "./principal.ts";
import { badMember, notFound, Refusal } from "./refusal.ts";
import { type MadeLink, makeSignInLink } from "./sign-in-links.ts";

export async function invite(
  tx: Tx,
  { email, display_name, role = "member" }: InvitePersonRequest,
): Promise<{ person: Person; link: MadeLink }> {
  const uid = uuidv7();
  if (!(await insertPerson(tx, { uid, email, display_name, role }))) {
    throw badMember("/email", "is somebody's address already", "conflict");
  }
  const link = await makeSignInLink(tx, uid, limits.signIn.invitationHours);
  return { person: (await findPerson(tx, uid)) as Person, link };
}

export async function changePerson(tx: Tx, uid: string, change: UpdatePersonRequest): Promise<Person> {
  if (change.role === "member") await requireAnotherAdmin(tx, uid, "demoted");
  const person = await updatePerson(tx, uid, change);
  if (!person) throw notFound("person");
  return person;
}

/** Sessions and keys end in the same moment as the person; runs stay, and cloud agents go to an admin. */
export async function removePerson(tx: Tx, { personUid }: Principal, uid: string): Promise<void> {
  const other = await requireAnotherAdmin(tx, uid, "deleted");
  const heir = personUid === uid ? other : personUid;
  if (!(await deletePerson(tx, uid))) throw notFound("person");
  await deleteSignInLink(tx, uid);
  await endSessions(tx, uid);
  await revokeKeysOf(tx, uid, heir);
  await handOverIdentities(tx, uid, heir);
}

/** Answers with an admin who is left. */
async function requireAnotherAdmin(tx: Tx, uid: string, done: string): Promise<string> {
  const other = (await lockAdmins(tx)).find((admin) => admin.uid !== uid);
  if (other) return other.uid;
  throw new Refusal(
    "conflict",
    `The last admin cannot be ${done}: nobody could undo it. Make somebody else an admin first.`,
  );
}
