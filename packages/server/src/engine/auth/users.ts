import type { InviteUserRequest, UpdateUserRequest, User } from "@outrider/contract/auth/user";
import { limits } from "@outrider/contract/limits";
import { v7 as uuidv7 } from "uuid";
import { transferIdentities } from "../../store/auth/identities.ts";
import { revokeKeysOf } from "../../store/auth/keys.ts";
import { endSessions } from "../../store/auth/sessions.ts";
import { deleteSignInLink } from "../../store/auth/sign-in-links.ts";
import { deleteUser, findUser, insertUser, lockAdmins, updateUser } from "../../store/auth/users.ts";
import type { Tx } from "../../store/connection/db.ts";
import { transferTemplates } from "../../store/templates.ts";
import { transferViews } from "../../store/views.ts";
import { ApiError, invalidField, notFound } from "../api-error.ts";
import type { Principal } from "./principal.ts";
import { type CreatedLink, createSignInLink } from "./sign-in-links.ts";

export async function invite(
  tx: Tx,
  { email, display_name, role = "member" }: InviteUserRequest,
): Promise<{ user: User; link: CreatedLink }> {
  const uid = uuidv7();
  if (!(await insertUser(tx, { uid, email, display_name, role }))) {
    throw invalidField("/email", "is already in use", "conflict");
  }
  const link = await createSignInLink(tx, uid, limits.signIn.invitationHours);
  return { user: (await findUser(tx, uid)) as User, link };
}

export async function changeUser(tx: Tx, uid: string, change: UpdateUserRequest): Promise<User> {
  if (change.role === "member") await requireAnotherAdmin(tx, uid, "demoted");
  const user = await updateUser(tx, uid, change);
  if (!user) throw notFound("user");
  return user;
}

/**
 * Deletes a user, ends their sessions and revokes their keys. Their runs remain. Their cloud agents, templates and
 * shared views are transferred to an admin.
 */
export async function removeUser(tx: Tx, { userUid }: Principal, uid: string): Promise<void> {
  const other = await requireAnotherAdmin(tx, uid, "deleted");
  const heir = userUid === uid ? other : userUid;
  if (!(await deleteUser(tx, uid))) throw notFound("user");
  await deleteSignInLink(tx, uid);
  await endSessions(tx, uid);
  await revokeKeysOf(tx, uid, heir);
  await transferIdentities(tx, uid, heir);
  await transferTemplates(tx, uid, heir);
  await transferViews(tx, uid, heir);
}

/** Returns the ID of an admin other than this user. Throws if there is none. */
async function requireAnotherAdmin(tx: Tx, uid: string, done: string): Promise<string> {
  const other = (await lockAdmins(tx)).find((admin) => admin.uid !== uid);
  if (other) return other.uid;
  throw new ApiError("conflict", `The last admin cannot be ${done}. Make another user an admin first.`);
}
