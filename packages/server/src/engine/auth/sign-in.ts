import {
  type SetEmailRequest,
  type SetPasswordRequest,
  type SignInRequest,
  sessionPrefix,
} from "@outrider/contract/auth/sign-in";
import { limits } from "@outrider/contract/limits";
import { v7 as uuidv7 } from "uuid";
import { endSessions, insertSession, type SignedInBy } from "../../store/auth/sessions.ts";
import { deleteSignInLink, findSignInLink, takeSignInLink } from "../../store/auth/sign-in-links.ts";
import {
  type Account,
  findAccount,
  lockAccount,
  storePasswordHash,
  updateEmail,
} from "../../store/auth/users.ts";
import { type Db, readClock, type Tx } from "../../store/connection/db.ts";
import { ApiError, invalidField } from "../api-error.ts";
import { hashPassword, requireStrongPassword, verifyPassword } from "./passwords.ts";
import { type Principal, principalOfSession } from "./principal.ts";
import { countSignInAttempt } from "./sign-in-attempts.ts";
import { hashLink } from "./sign-in-links.ts";
import { hashToken, newToken } from "./tokens.ts";

export interface SignedIn {
  principal: Principal;
  /** The value of the session cookie. Only its hash is stored. */
  token: string;
}

/** Hashes a session cookie for storage or lookup. Returns undefined if the text is not well-formed. */
export function hashSession(raw: string): Buffer | undefined {
  return hashToken(raw, [sessionPrefix]);
}

async function openSession(tx: Tx, account: Account, signed_in_by: SignedInBy): Promise<SignedIn> {
  const token = newToken(sessionPrefix);
  const session_id = uuidv7();
  const { uid: user_uid, display_name: user_name, email, role, password_hash } = account;
  const hash = hashSession(token) as Buffer;
  const times = await insertSession(tx, { session_id, hash, user_uid, signed_in_by });
  const user = { user_uid, user_name, email, role, has_password: password_hash !== null };
  return { token, principal: principalOfSession({ ...user, session_id, signed_in_by, ...times }) };
}

/** The error message deliberately does not reveal whether the link ever existed. */
function invalidLink(): ApiError {
  return new ApiError(
    "authentication_required",
    "This link was used or replaced, or it has expired. Ask an admin for a new one.",
  );
}

export async function signInByLink(db: Db, token: string): Promise<SignedIn> {
  const hash = hashLink(token);
  if (!hash) throw invalidLink();
  return db.begin(async (tx) => {
    const uid = await findSignInLink(tx, hash);
    const account = uid && (await lockAccount(tx, uid));
    if (!account || !(await takeSignInLink(tx, hash))) throw invalidLink();
    return openSession(tx, account, "link");
  });
}

export async function signInByPassword(
  db: Db,
  { email, password }: SignInRequest,
  address: string,
): Promise<SignedIn> {
  const attempt = await countSignInAttempt(db, email, address);
  const account = await findAccount(db, email);
  const matches = await verifyPassword(password, account?.password_hash);
  const signedIn =
    matches &&
    (await db.begin(async (tx) => {
      const now = await lockAccount(tx, (account as Account).uid);
      // A password change ends all other sessions, so a session must not be created with a password that has just been
      // changed.
      return now?.password_hash === account?.password_hash && openSession(tx, now as Account, "password");
    }));
  if (!signedIn) {
    throw new ApiError("authentication_required", "The email address or password is incorrect.");
  }
  await attempt.succeeded();
  return signedIn;
}

/**
 * Sets a user's password. Also invalidates the user's other sessions and sign-in links, which may belong to an
 * attacker.
 */
export async function setPassword(
  db: Db,
  principal: Principal,
  { password, current_password }: SetPasswordRequest,
  address: string,
): Promise<void> {
  const { session, userUid } = principal;
  const email = principal.creator.email as string;
  if (!session) throw new ApiError("not_authorized", "Sign in with a browser to set a password.");
  await requireStrongPassword(password, { email, display_name: principal.creator.display_name });
  const known = await findAccount(db, email);
  await requireOwner(db, { session, email, known, current_password, address });
  const hash = await hashPassword(password);
  await db.begin(async (tx) => {
    const account = await lockAccount(tx, userUid);
    if (account?.password_hash !== known?.password_hash) {
      throw new ApiError("conflict", "The password was changed concurrently. Sign in again.");
    }
    await storePasswordHash(tx, userUid, hash);
    await deleteSignInLink(tx, userUid);
    await endSessions(tx, userUid, session.session_id);
  });
}

/** Changes the address that a user signs in with. */
export async function setEmail(
  db: Db,
  principal: Principal,
  { email: next, current_password }: SetEmailRequest,
  address: string,
): Promise<void> {
  const { session, userUid } = principal;
  if (!session) throw new ApiError("not_authorized", "Sign in with a browser to change your email address.");
  const email = principal.creator.email as string;
  const known = await findAccount(db, email);
  await requireOwner(db, { session, email, known, current_password, address });
  if (!(await updateEmail(db, userUid, next)))
    throw invalidField("/email", "is already in use by another user", "conflict");
}

/** Requires the password, unless the user has none or has just signed in with a one-time link. */
async function requireOwner(
  db: Db,
  {
    session,
    email,
    known,
    current_password,
    address,
  }: {
    session: NonNullable<Principal["session"]>;
    email: string;
    known: Account | undefined;
    current_password: string | undefined;
    address: string;
  },
): Promise<void> {
  if (current_password !== undefined) {
    const attempt = await countSignInAttempt(db, email, address);
    if (!(await verifyPassword(current_password, known?.password_hash))) {
      throw invalidField("/current_password", "is incorrect", "not_authorized");
    }
    await attempt.succeeded();
  } else if (known?.password_hash && !(await isFresh(db, session))) {
    const minutes = limits.signIn.freshMinutes;
    throw invalidField(
      "/current_password",
      `is required, unless you signed in with a one-time link in the last ${minutes} minutes`,
      "not_authorized",
    );
  }
}

async function isFresh(db: Db, { signed_in_by, created_at }: NonNullable<Principal["session"]>) {
  const age = Date.parse(await readClock(db)) - Date.parse(created_at);
  return signed_in_by === "link" && age < limits.signIn.freshMinutes * 60_000;
}
