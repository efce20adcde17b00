import { randomBytes } from "node:crypto";
import { type Algorithm, hash, verify } from "@node-rs/argon2";
import type { ZxcvbnFactory } from "@zxcvbn-ts/core";
import { badMember } from "./refusal.ts";

/** Memory in KiB and passes as OWASP recommends for Argon2id. A hash says its own, so these may grow. */
const cost = { algorithm: 2 satisfies Algorithm, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Of 0 to 4: below, a guesser needs fewer than a hundred million tries. */
const ENOUGH = 3;
/** How much of a long password is looked at: judging takes longer than linear. */
const JUDGED_CHARACTERS = 64;

/** Keyboards write the same letter in several ways. */
const written = (password: string) => password.normalize("NFKC");

export function hashPassword(password: string): Promise<string> {
  return hash(written(password), cost);
}

let decoy: Promise<string> | undefined;

/** Takes as long where there is no password as where there is one, so that nobody learns who has an account. */
export async function isPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  decoy ??= hashPassword(randomBytes(32).toString("base64"));
  const compared = stored ?? (await decoy);
  const fits = await verify(compared, written(password));
  return fits && stored != null;
}

let judge: Promise<ZxcvbnFactory> | undefined;

/** Loaded with the first password that is set: a dictionary is too much for every start. */
async function loadJudge(): Promise<ZxcvbnFactory> {
  const { ZxcvbnFactory } = await import("@zxcvbn-ts/core");
  const { adjacencyGraphs, dictionary } = await import("@zxcvbn-ts/language-common");
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
}

/** What everybody would try first is no password: common ones, patterns, and what is known of the person. */
export async function requireGoodPassword(
  password: string,
  person: { email: string; display_name: string },
): Promise<void> {
  judge ??= loadJudge();
  const { email, display_name } = person;
  const known = [email, ...email.split(/[@.]/), display_name, ...display_name.split(/\s+/), "outrider"];
  const isKnown = known.some((word) => word.toLowerCase() === password.toLowerCase());
  const looked = [...written(password)].slice(0, JUDGED_CHARACTERS).join("");
  if (isKnown || (await judge).check(looked, known).score < ENOUGH) {
    throw badMember(
      "/password",
      "is too easy to guess: take several unrelated words, or let a password manager choose",
    );
  }
}
