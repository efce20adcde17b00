import type postgres from "postgres";
import type { Sql } from "./db.ts";

/** A piece of a statement. */
export type Condition = postgres.PendingQuery<postgres.Row[]>;

const WORD_CHARACTERS = 64;
const FORGIVING_FROM = 4;
/** A tsvector holds 1 MiB; PostgreSQL does not refuse more here, but mixes it up. */
const ALL_WORDS_BYTES = 1_000_000;

function cutWord(word: string): string {
  return word.length <= WORD_CHARACTERS ? word : [...word].slice(0, WORD_CHARACTERS).join("");
}

/** The words of a text as the search sees them. Both what is stored and what is asked for go through here. */
export function searchWords(text: string): string[] {
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const cut = new Set(words.map(cutWord));
  let bytes = 0;
  return [...cut].filter((word) => {
    bytes += Buffer.byteLength(word);
    return bytes <= ALL_WORDS_BYTES;
  });
}

/**
 * Slips are forgiven in words, not in numbers: who looks for ticket 3520 does not want 3521, and numbers are alike in such
 * masses that to look at each would take a second among a million runs.
 */
function isForgiven(word: string): boolean {
  return !/\p{N}/u.test(word) && [...word].length >= FORGIVING_FROM;
}

/** What is asked of a run's words, on the row of them. */
export interface WordConditions {
  /** Found in an index as it stands, and quickly. It implies the other. */
  exact: Condition;
  /** With what is only alike; absent where nothing is forgiven. */
  forgiving?: Condition;
}

/** Every word must begin a word of title, prompt or skill, or be like one of the title. */
export function wordConditions(
  sql: Sql,
  { q, metadata }: { q?: string | undefined; metadata?: Record<string, string> | undefined },
): WordConditions | undefined {
  if (q === undefined && metadata === undefined) return undefined;
  const words = q === undefined ? [] : searchWords(q);
  if (q !== undefined && words.length === 0) return { exact: sql`false` };
  const labels = metadata ? [sql`w.metadata @> ${sql.json(metadata)}`] : [];
  const begins = (word: string) => sql`w.search @@ ${`'${word}':*`}::tsquery`;
  const exact = all(sql, [...labels, ...words.map(begins)]);
  if (!words.some(isForgiven)) return { exact };
  const alike = (word: string) =>
    isForgiven(word) ? sql`(${begins(word)} or w.title %>> ${word})` : begins(word);
  return { exact, forgiving: all(sql, [...labels, ...words.map(alike)]) };
}

/** Conditions that must all hold. */
export function all(sql: Sql, conditions: Condition[]): Condition {
  return conditions.length ? conditions.reduce((before, one) => sql`${before} and ${one}`) : sql`true`;
}
