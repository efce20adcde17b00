import { createHash } from "node:crypto";
import { limits } from "@outrider/contract/limits";
import { clearAttempts, countAttempt, uncountAttempt } from "../../store/auth/sign-in-attempts.ts";
import type { Sql } from "../../store/connection/db.ts";
import { tooMany } from "../api-error.ts";
import { networkOf } from "../limits/client-network.ts";

const { attempts: tries } = limits.signIn;

function subjectOf(kind: keyof typeof tries, name: string): Buffer {
  return createHash("sha256").update(`${kind} ${name}`).digest();
}

export interface SignInAttempt {
  /**
   * Call this if the password was correct. It resets the account's count and removes this attempt from the network's
   * count.
   */
  succeeded(): Promise<void>;
}

/**
 * Counts a password attempt against both the account and the client's network, across all servers, and throws if there
 * have been too many. Attempts on unknown accounts are counted too. Call it outside a transaction, because a rollback
 * would undo the count.
 */
export async function countSignInAttempt(sql: Sql, email: string, address: string): Promise<SignInAttempt> {
  const account = subjectOf("account", email.toLowerCase());
  const network = subjectOf("address", networkOf(address));
  const ofNetwork = await countAttempt(sql, network, tries.windowMinutes);
  if (ofNetwork.attempts > tries.address) {
    throw tooMany("Too many sign-in attempts from this address. Wait, then try again.", ofNetwork.seconds);
  }
  const ofAccount = await countAttempt(sql, account, tries.windowMinutes);
  if (ofAccount.attempts > tries.account) {
    throw tooMany(
      "Too many sign-in attempts for this account. Wait, or sign in with a one-time link.",
      ofAccount.seconds,
    );
  }
  return {
    async succeeded() {
      await Promise.all([clearAttempts(sql, account), uncountAttempt(sql, network)]);
    },
  };
}
