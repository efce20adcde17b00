import { UsageError } from "../exit-codes.ts";

/** Appends a value of a repeatable option to the previous values. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

export function parsePair(flag: string, text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`${flag} must be name=value, not ${JSON.stringify(text)}.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Parses `name=value` flags. Rejects duplicate names, because one of the values would be lost. */
export function parsePairs(flag: string, texts: string[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const [name, value] of texts.map((text) => parsePair(flag, text))) {
    if (Object.hasOwn(pairs, name)) throw new UsageError(`${flag} contains ${JSON.stringify(name)} twice.`);
    pairs[name] = value;
  }
  return pairs;
}

export function parseNumber(flag: string, text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number))
    throw new UsageError(`${flag} must be a number, not ${JSON.stringify(text)}.`);
  return number;
}

/** Returns a parser for an option whose value is a number. */
export function numberParser(flag: string): (text: string) => number {
  return (text) => parseNumber(flag, text);
}

export function omitUndefined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
