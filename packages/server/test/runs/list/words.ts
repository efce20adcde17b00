import type { Random } from "./random.ts";

const titleWords = [
  "parser",
  "Parser",
  "PARSING",
  "release",
  "notes",
  "database",
  "migration",
  "Größe",
  "GRÖSSE",
  "naïve",
  "Привет",
  "мир",
  "数据库",
  "𠀀𠀁𠀂",
  "cache",
  "caching",
  "flaky",
  "test",
  "tests",
  "login",
  "logout",
  "v2",
  "2026",
  "o'brien",
  "C++",
  "back\\slash",
  'quo"te',
  "100%",
  "🦊",
  "ﬁle",
];
const promptWords = [
  "refactor",
  "explain",
  "kubernetes",
  "Überprüfung",
  "тесты",
  "pagination",
  "idempotent",
  "x1",
];
const gaps = [" ", " ", " ", "-", ", ", "_", "/"];

/** Titles that several runs share, near each other in one order and far apart in another. */
const commonTitles = [
  "Same title",
  "same title",
  "Zebra",
  "zebra",
  "éclair",
  "Éclair",
  "~",
  "ａfullwidth",
  "𐐀",
];

export function randomTitle(random: Random): string {
  if (random.chance(0.25)) return random.pick(commonTitles);
  let title = random.pick(titleWords);
  for (let more = random.below(4); more > 0; more--) title += random.pick(gaps) + random.pick(titleWords);
  return title;
}

export function randomPrompt(random: Random): string {
  const words = Array.from({ length: 1 + random.below(6) }, () => random.pick(promptWords));
  return words.join(random.pick(gaps));
}

/** Queries as users type them: words, prefixes, typos, and several words. */
export function randomSearch(random: Random): string {
  const words = Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => {
    const word = random.pick([...titleWords, ...promptWords, "release-notes", "acme"]);
    const change = random.below(4);
    if (change === 0) return word;
    if (change === 1) return [...word].slice(0, 1 + random.below([...word].length)).join("");
    return change === 2 ? slip(random, word) : slip(random, slip(random, word));
  });
  return words.join(random.pick(gaps));
}

function slip(random: Random, word: string): string {
  const characters = [...word];
  const place = random.below(characters.length);
  const kind = random.below(3);
  if (kind === 0 && characters.length > 1) characters.splice(place, 1);
  else if (kind === 1) characters.splice(place, 0, "e");
  else characters[place] = "a";
  return characters.join("");
}
