import type { Sql } from "./db.ts";

const WORD_CHARACTERS = 64;
const FORGIVING_FROM = 4;

/** The words of a text as the search sees them. Both what is stored and what is asked for go through here. */
export function searchWords(text: string): string[] {
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.map((word) => [...word].slice(0, WORD_CHARACTERS).join("")))];
}

/** Every word must begin a word of title, prompt or skill, or be like one of the title. */
export function searchCondition(sql: Sql, query: string) {
  const conditions = searchWords(query).map((word) => {
    const found = sql`r.search @@ ${`'${word}':*`}::tsquery`;
    return word.length < FORGIVING_FROM ? found : sql`(${found} or r.title %>> ${word})`;
  });
  if (conditions.length === 0) return sql`false`;
  return conditions.reduce((all, one) => sql`${all} and ${one}`);
}
