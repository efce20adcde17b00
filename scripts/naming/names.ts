import { basename } from "node:path";
import { identifiers, paths, sourceIdentifiers, texts, words } from "./denylist.ts";

/** Returns what is wrong with a file's path and text, one sentence for each denied name. */
export function deniedNames(path: string, text: string): string[] {
  return [...deniedInPath(path), ...deniedInText(path, text)];
}

function deniedInPath(path: string): string[] {
  return path.split("/").flatMap((part) => {
    const name = basename(part).split(".")[0] as string;
    return Object.hasOwn(paths, name)
      ? [`${path}: a path must not contain "${name}"; use "${paths[name]}".`]
      : [];
  });
}

function deniedInText(path: string, text: string): string[] {
  const denied = isSource(path) ? { ...identifiers, ...sourceIdentifiers } : identifiers;
  return text.split("\n").flatMap((line, index) => {
    const where = `${path}:${index + 1}`;
    const found = Object.keys(texts).filter((each) => line.includes(each));
    const inCode = isCode(path) ? identifiersOf(line).flatMap((name) => deniedIn(name, denied)) : [];
    return [
      ...found.map((each) => `${where}: "${each}" is an old name; use "${texts[each]}".`),
      ...inCode.map(([old, name]) => `${where}: "${old}" is an old name; use "${name}".`),
    ];
  });
}

const isSource = (path: string) => /^packages\/[a-z]+\/src\//.test(path);
const isCode = (path: string) => /\.(ts|tsx|py|sql)$/.test(path);

/** Identifiers of one line. Comments and quoted strings are prose and may contain any word. */
function identifiersOf(line: string): string[] {
  if (/^\s*(\*|\/\*|\/\/|#|--)/.test(line)) return [];
  const code = line.replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, "").replace(/(\/\/|\/\*\*?|#\s|--\s).*$/, "");
  return code.match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? [];
}

function deniedIn(identifier: string, denied: Record<string, string>): [old: string, name: string][] {
  if (Object.hasOwn(denied, identifier)) return [[identifier, denied[identifier] as string]];
  return wordsOf(identifier)
    .filter((word) => Object.hasOwn(words, word))
    .map((word) => [identifier, words[word] as string]);
}

/** `getBrakeState` and `get_brake_state` have the words get, brake and state. */
function wordsOf(identifier: string): string[] {
  return identifier
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split("_");
}
