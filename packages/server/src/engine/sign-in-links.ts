import { limits } from "@outrider/contract/limits";
import { linkAddress, linkPrefix } from "@outrider/contract/sign-in";
import type { Sql, Tx } from "../store/db.ts";
import { findFact, putFact } from "../store/installation.ts";
import { findPersonByEmail, lockAccount } from "../store/people.ts";
import { putSignInLink } from "../store/sign-in-links.ts";
import { notFound, Refusal } from "./refusal.ts";
import { hashToken, newToken } from "./tokens.ts";

export interface MadeLink {
  token: string;
  expires_at: string;
}

export function hashLink(token: string): Buffer | undefined {
  return hashToken(token, [linkPrefix]);
}

/** A link by which a person signs in once. It takes the place of the one before. */
export async function makeSignInLink(
  sql: Sql,
  person_uid: string,
  hours: number = limits.signIn.linkHours,
): Promise<MadeLink> {
  const token = newToken(linkPrefix);
  const expires_at = await putSignInLink(sql, { person_uid, hash: hashLink(token) as Buffer, hours });
  return { token, expires_at };
}

/** For an admin who helps somebody in. */
export async function relink(tx: Tx, uid: string): Promise<MadeLink> {
  if (!(await lockAccount(tx, uid))) throw notFound("person");
  return makeSignInLink(tx, uid);
}

const ORIGIN = "origin";

/** Servers say where they are reached, for commands that speak to the database alone. */
export function noteOrigin(sql: Sql, origin: string): Promise<void> {
  return putFact(sql, ORIGIN, origin);
}

/** For the CLI: a link for somebody, at the address where the servers are reached. */
export async function linkFor(sql: Sql, email: string): Promise<{ link: string; expires_at: string }> {
  const person = await findPersonByEmail(sql, email);
  if (!person) throw new Refusal("resource_not_found", `Nobody has the address ${email}.`);
  const origin = await findFact(sql, ORIGIN);
  if (!origin) throw new Error("No server of this version has run on this database. Start one first.");
  const { token, expires_at } = await makeSignInLink(sql, person.uid);
  return { link: linkAddress(origin, token), expires_at };
}
