import type { Sql } from "./db.ts";

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

/** Every word must begin a word of title, prompt or skill, or be like one of the title. */
export function searchCondition(sql: Sql, query: string) {
  const conditions = searchWords(query).map((word) => {
    const found = sql`w.search @@ ${`'${word}':*`}::tsquery`;
    return [...word].length < FORGIVING_FROM ? found : sql`(${found} or w.title %>> ${word})`;
  });
  if (conditions.length === 0) return sql`false`;
  const all = conditions.reduce((before, one) => sql`${before} and ${one}`);
  return sql`exists (select 1 from run_words w where w.run_id = r.run_id and ${all})`;
}
