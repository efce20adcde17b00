import { randomBytes } from "node:crypto";
import { type Algorithm, hash, verify } from "@node-rs/argon2";
import type { ZxcvbnFactory } from "@zxcvbn-ts/core";
import { invalidField } from "../api-error.ts";

/**
 * OWASP's recommendation for Argon2id; memory is in KiB. Each hash records its own parameters, so these can be raised
 * later.
 */
const hashOptions = { algorithm: 2 satisfies Algorithm, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/**
 * The minimum zxcvbn score, which ranges from 0 to 4. Below 3, a hundred million guesses are enough to find the
 * password.
 */
const MIN_SCORE = 3;
/** Only the start of a long password is scored, because scoring time grows faster than linearly with length. */
const SCORED_CHARACTERS = 64;

/** Input methods may encode the same character differently, so passwords are normalized before hashing. */
const normalize = (password: string) => password.normalize("NFKC");

export function hashPassword(password: string): Promise<string> {
  return hash(normalize(password), hashOptions);
}

let decoy: Promise<string> | undefined;

/**
 * Compares a password with a hash. Without a hash, it takes just as long and returns false, so that timing does not
 * reveal who has an account.
 */
export async function verifyPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  decoy ??= hashPassword(randomBytes(32).toString("base64"));
  const compared = stored ?? (await decoy);
  const matches = await verify(compared, normalize(password));
  return matches && stored != null;
}

let scorer: Promise<ZxcvbnFactory> | undefined;

/** Loads the dictionary on first use, because loading it at startup would delay every start. */
async function loadScorer(): Promise<ZxcvbnFactory> {
  const { ZxcvbnFactory } = await import("@zxcvbn-ts/core");
  const { adjacencyGraphs, dictionary } = await import("@zxcvbn-ts/language-common");
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
}

/**
 * Throws if a password is easy to guess: a common password, a pattern, or something derived from the user's name or
 * email.
 */
export async function requireStrongPassword(
  password: string,
  user: { email: string; display_name: string },
): Promise<void> {
  scorer ??= loadScorer();
  const { email, display_name } = user;
  const known = [email, ...email.split(/[@.]/), display_name, ...display_name.split(/\s+/), "outrider"];
  const isKnown = known.some((word) => word.toLowerCase() === password.toLowerCase());
  const scored = [...normalize(password)].slice(0, SCORED_CHARACTERS).join("");
  if (isKnown || (await scorer).check(scored, known).score < MIN_SCORE) {
    throw invalidField(
      "/password",
      "is too easy to guess: use several unrelated words, or a password manager",
    );
  }
}
