import { linkPrefix, signInLinkUrl } from "@outrider/contract/auth/sign-in";
import { limits } from "@outrider/contract/limits";
import { putSignInLink } from "../../store/auth/sign-in-links.ts";
import { findUserByEmail, lockAccount } from "../../store/auth/users.ts";
import type { Sql, Tx } from "../../store/connection/db.ts";
import { findInstallationFact, putInstallationFact } from "../../store/installation.ts";
import { ApiError, notFound } from "../api-error.ts";
import { hashToken, newToken } from "./tokens.ts";

export interface CreatedLink {
  token: string;
  expires_at: string;
}

export function hashLink(token: string): Buffer | undefined {
  return hashToken(token, [linkPrefix]);
}

/** Creates a one-time sign-in link that replaces the user's previous one. */
export async function createSignInLink(
  sql: Sql,
  user_uid: string,
  hours: number = limits.signIn.linkHours,
): Promise<CreatedLink> {
  const token = newToken(linkPrefix);
  const expires_at = await putSignInLink(sql, { user_uid, hash: hashLink(token) as Buffer, hours });
  return { token, expires_at };
}

/** Creates a new sign-in link for a user at an admin's request. Throws if the user does not exist. */
export async function replaceSignInLink(tx: Tx, uid: string): Promise<CreatedLink> {
  if (!(await lockAccount(tx, uid))) throw notFound("user");
  return createSignInLink(tx, uid);
}

const ORIGIN = "origin";

/** Stores the server's public origin for CLI commands that can access only the database. */
export function storeOrigin(sql: Sql, origin: string): Promise<void> {
  return putInstallationFact(sql, ORIGIN, origin);
}

/** Creates a sign-in link for the user with this email address. Used by the CLI. */
export async function createSignInLinkFor(
  sql: Sql,
  email: string,
): Promise<{ link: string; expires_at: string }> {
  const user = await findUserByEmail(sql, email);
  if (!user) throw new ApiError("resource_not_found", `No user has the email address ${email}.`);
  const origin = await findInstallationFact(sql, ORIGIN);
  if (!origin) throw new Error("No server has been started with this database yet. Start one first.");
  const { token, expires_at } = await createSignInLink(sql, user.uid);
  return { link: signInLinkUrl(origin, token), expires_at };
}
