import type postgres from "postgres";
import type { Sql } from "../connection/db.ts";
import { json } from "../connection/json.ts";

/** A fragment of an SQL statement. */
export type Condition = postgres.PendingQuery<postgres.Row[]>;

const MAX_WORD_CHARACTERS = 64;
const MIN_FUZZY_CHARACTERS = 4;
/** A tsvector is limited to 1 MiB. PostgreSQL does not reject longer input here but corrupts the value. */
const MAX_WORDS_BYTES = 1_000_000;

function truncateWord(word: string): string {
  return word.length <= MAX_WORD_CHARACTERS ? word : [...word].slice(0, MAX_WORD_CHARACTERS).join("");
}

/** Splits text into normalized words. Used for both stored text and queries. */
export function searchWords(text: string): string[] {
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const truncated = new Set(words.map(truncateWord));
  let bytes = 0;
  return [...truncated].filter((word) => {
    bytes += Buffer.byteLength(word);
    return bytes <= MAX_WORDS_BYTES;
  });
}

/**
 * Only words without digits are matched fuzzily. A search for ticket 3520 should not find 3521, and with a million
 * runs, comparing the many similar numbers would take a second.
 */
function isFuzzy(word: string): boolean {
  return !/\p{N}/u.test(word) && [...word].length >= MIN_FUZZY_CHARACTERS;
}

/** Conditions on a row of run_search. */
export interface WordConditions {
  /** Matches prefixes, which is fast because of an index. Every exact match is also a fuzzy match. */
  exact: Condition;
  /** Also matches similar words. Undefined if no word is matched fuzzily. */
  fuzzy?: Condition;
}

/**
 * Returns conditions for a search. Every search word must be a prefix of a word in the title, prompt or skill, or be
 * similar to a word in the title.
 */
export function wordConditions(
  sql: Sql,
  { q, metadata }: { q?: string | undefined; metadata?: Record<string, string> | undefined },
): WordConditions | undefined {
  if (q === undefined && metadata === undefined) return undefined;
  const words = q === undefined ? [] : searchWords(q);
  if (q !== undefined && words.length === 0) return { exact: sql`false` };
  const labels = metadata ? [sql`w.metadata @> ${json(sql, metadata)}`] : [];
  const matchesPrefix = (word: string) => sql`w.search @@ ${`'${word}':*`}::tsquery`;
  const exact = all(sql, [...labels, ...words.map(matchesPrefix)]);
  if (!words.some(isFuzzy)) return { exact };
  const matchesFuzzily = (word: string) =>
    isFuzzy(word) ? sql`(${matchesPrefix(word)} or w.title %>> ${word})` : matchesPrefix(word);
  return { exact, fuzzy: all(sql, [...labels, ...words.map(matchesFuzzily)]) };
}

/** Joins conditions with `and`. */
export function all(sql: Sql, conditions: Condition[]): Condition {
  return conditions.length ? conditions.reduce((left, right) => sql`${left} and ${right}`) : sql`true`;
}
