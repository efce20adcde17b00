/** A second implementation of the search, without a database. */

const FORGIVING_FROM = 4;
const SIMILAR = 0.3;
const WORD_CHARACTERS = 64;

const isWordCharacter = (character: string) => /[\p{L}\p{N}]/u.test(character);

function wordsOf(text: string): string[] {
  const words: string[] = [];
  let word: string[] = [];
  for (const character of [...text, " "]) {
    if (isWordCharacter(character)) {
      word.push(character);
    } else if (word.length > 0) {
      words.push(word.slice(0, WORD_CHARACTERS).join(""));
      word = [];
    }
  }
  return words;
}

/** Every search word must be a prefix of a word in title, prompt or skill, or similar to words of the title. */
export function isFound(query: string, run: { title: string; prompt: string; skill_spec?: string }): boolean {
  const asked = wordsOf(fold(query));
  const held = wordsOf(fold([run.title, run.prompt, run.skill_spec ?? ""].join("\n")));
  return (
    asked.length > 0 &&
    asked.every((word) => held.some((one) => one.startsWith(word)) || isLikeTitle(word, run.title))
  );
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function isLikeTitle(word: string, title: string): boolean {
  if (/\p{N}/u.test(word) || [...word].length < FORGIVING_FROM) return false;
  return strictWordSimilarity(word, title) >= SIMILAR;
}

/** pg_trgm: the best likeness of the word's trigrams to those of neighbouring whole words of the text. */
function strictWordSimilarity(word: string, text: string): number {
  const wanted = new Set(trigramsOf(word.toLowerCase()));
  const words = wordsOf(text.toLowerCase());
  let best = 0;
  for (let first = 0; first < words.length; first++) {
    for (let last = first; last < words.length; last++) {
      const extent = new Set(words.slice(first, last + 1).flatMap(trigramsOf));
      const common = [...wanted].filter((trigram) => extent.has(trigram)).length;
      best = Math.max(best, common / (wanted.size + extent.size - common));
    }
  }
  return best;
}

function trigramsOf(word: string): string[] {
  const characters = [" ", " ", ...word, " "];
  return characters.slice(2).map((_, index) => characters.slice(index, index + 3).join(""));
}
