import { limits } from "@outrider/contract/limits";
import { type SetPasswordRequest, type SignInRequest, sessionPrefix } from "@outrider/contract/sign-in";
import { v7 as uuidv7 } from "uuid";
import { type Db, readClock, type Tx } from "../store/db.ts";
import { type Account, findAccount, lockAccount, storePasswordHash } from "../store/people.ts";
import { endSessions, insertSession, type SignedInBy } from "../store/sessions.ts";
import { deleteSignInLink, findSignInLink, takeSignInLink } from "../store/sign-in-links.ts";
import { hashPassword, isPassword, requireGoodPassword } from "./passwords.ts";
import { type Principal, principalOfSession } from "./principal.ts";
import { badMember, Refusal } from "./refusal.ts";
import { hashLink } from "./sign-in-links.ts";
import { beginTry } from "./sign-in-tries.ts";
import { hashToken, newToken } from "./tokens.ts";

export interface SignedIn {
  principal: Principal;
  /** For the browser's cookie; only its hash is kept. */
  token: string;
}

/** What is stored of a cookie; undefined for a text that cannot be one. */
export function hashSession(raw: string): Buffer | undefined {
  return hashToken(raw, [sessionPrefix]);
}

async function openSession(tx: Tx, account: Account, signed_in_by: SignedInBy): Promise<SignedIn> {
  const token = newToken(sessionPrefix);
  const session_id = uuidv7();
  const { uid: person_uid, display_name: person_name, email, role, password_hash } = account;
  const hash = hashSession(token) as Buffer;
  const times = await insertSession(tx, { session_id, hash, person_uid, signed_in_by });
  const person = { person_uid, person_name, email, role, has_password: password_hash !== null };
  return { token, principal: principalOfSession({ ...person, session_id, signed_in_by, ...times }) };
}

/** The same words for all, so that nobody learns what once was. */
function noLink(): Refusal {
  return new Refusal(
    "authentication_required",
    "This link opens nothing: it was used, replaced, or its time is over. Ask an admin for another.",
  );
}

export async function signInByLink(db: Db, token: string): Promise<SignedIn> {
  const hash = hashLink(token);
  if (!hash) throw noLink();
  return db.begin(async (tx) => {
    const uid = await findSignInLink(tx, hash);
    const account = uid && (await lockAccount(tx, uid));
    if (!account || !(await takeSignInLink(tx, hash))) throw noLink();
    return openSession(tx, account, "link");
  });
}

export async function signInByPassword(
  db: Db,
  { email, password }: SignInRequest,
  address: string,
): Promise<SignedIn> {
  const attempt = await beginTry(db, email, address);
  const account = await findAccount(db, email);
  const fits = await isPassword(password, account?.password_hash);
  const signedIn =
    fits &&
    (await db.begin(async (tx) => {
      const now = await lockAccount(tx, (account as Account).uid);
      // Who changes the password at this moment ends all other sessions, and this one would come behind that.
      return now?.password_hash === account?.password_hash && openSession(tx, now as Account, "password");
    }));
  if (!signedIn) {
    throw new Refusal("authentication_required", "The e-mail address or the password is not right.");
  }
  await attempt.succeeded();
  return signedIn;
}

/** Ends the person's other sessions and links: whoever knew the old password may hold them. */
export async function setPassword(
  db: Db,
  principal: Principal,
  { password, current_password }: SetPasswordRequest,
  address: string,
): Promise<void> {
  const { session, personUid } = principal;
  const email = principal.creator.email as string;
  if (!session) throw new Refusal("not_authorized", "A password is set by its person, signed in.");
  await requireGoodPassword(password, { email, display_name: principal.creator.display_name });
  const known = await findAccount(db, email);
  if (current_password !== undefined) {
    const attempt = await beginTry(db, email, address);
    if (!(await isPassword(current_password, known?.password_hash))) {
      throw badMember("/current_password", "is not the password", "not_authorized");
    }
    await attempt.succeeded();
  } else if (known?.password_hash && !(await isFresh(db, session))) {
    const minutes = limits.signIn.freshMinutes;
    throw badMember(
      "/current_password",
      `is needed, or a sign-in by a one-time link less than ${minutes} minutes ago`,
      "not_authorized",
    );
  }
  const hash = await hashPassword(password);
  await db.begin(async (tx) => {
    const account = await lockAccount(tx, personUid);
    if (account?.password_hash !== known?.password_hash) {
      throw new Refusal("conflict", "The password was changed at the same time. Sign in again.");
    }
    await storePasswordHash(tx, personUid, hash);
    await deleteSignInLink(tx, personUid);
    await endSessions(tx, personUid, session.session_id);
  });
}

async function isFresh(db: Db, { signed_in_by, created_at }: NonNullable<Principal["session"]>) {
  const age = Date.parse(await readClock(db)) - Date.parse(created_at);
  return signed_in_by === "link" && age < limits.signIn.freshMinutes * 60_000;
}
