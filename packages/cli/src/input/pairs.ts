import { Complaint } from "../exit.ts";

/** For options that may be repeated. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

export function pairOf(flag: string, text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  if (at < 1) throw new Complaint(`${flag} takes name=value, not ${JSON.stringify(text)}.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** A name twice would drop a value without a word. */
export function pairsOf(flag: string, texts: string[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const [name, value] of texts.map((text) => pairOf(flag, text))) {
    if (Object.hasOwn(pairs, name)) throw new Complaint(`${flag} names ${JSON.stringify(name)} twice.`);
    pairs[name] = value;
  }
  return pairs;
}

export function numberOf(flag: string, text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number))
    throw new Complaint(`${flag} takes a number, not ${JSON.stringify(text)}.`);
  return number;
}

/** A reader for an option that takes a number. */
export function asNumber(flag: string): (text: string) => number {
  return (text) => numberOf(flag, text);
}

/** Members with a value: the API takes no null. */
export function given<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
