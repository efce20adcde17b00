import { createHash } from "node:crypto";
import { limits } from "@outrider/contract/limits";
import type { Sql } from "../store/db.ts";
import { countTry, forgetTries, uncountTry } from "../store/sign-in-tries.ts";
import { networkOf } from "./networks.ts";
import { tooMany } from "./refusal.ts";

const { tries } = limits.signIn;

function subjectOf(kind: keyof typeof tries, name: string): Buffer {
  return createHash("sha256").update(`${kind} ${name}`).digest();
}

export interface Try {
  /** The password was right: guessing begins anew for the account, and the address has not guessed. */
  succeeded(): Promise<void>;
}

/**
 * Counts a try of a password on every server alike. An account that does not exist is counted as one that does. Not in
 * a transaction of the caller, whose refusal would undo it.
 */
export async function beginTry(sql: Sql, email: string, address: string): Promise<Try> {
  const account = subjectOf("account", email.toLowerCase());
  const network = subjectOf("address", networkOf(address));
  const ofNetwork = await countTry(sql, network, tries.windowMinutes);
  if (ofNetwork.tries > tries.address) {
    throw tooMany(
      "Too many passwords were tried from this address. Wait, then try again.",
      ofNetwork.seconds,
    );
  }
  const ofAccount = await countTry(sql, account, tries.windowMinutes);
  if (ofAccount.tries > tries.account) {
    throw tooMany(
      "Too many passwords were tried for this account. Wait, or sign in by a one-time link.",
      ofAccount.seconds,
    );
  }
  return {
    async succeeded() {
      await Promise.all([forgetTries(sql, account), uncountTry(sql, network)]);
    },
  };
}
