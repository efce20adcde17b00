/** Words of instructions, with quotes, escapes and variables as Docker reads them. */

/** Variables that contain variables could grow exponentially. */
const MAX_VALUE_CHARACTERS = 32_768;
const MAX_TEXT_CHARACTERS = 2 ** 20;
const MAX_DEPTH = 10;

export interface ExpandOptions {
  escapeCharacter: string;
  /** Returns undefined for a variable that is not set. */
  lookup(name: string): string | undefined;
}

/** Splits a text at spaces that are not quoted. Quotes and escapes stay in the words. */
export function splitWords(text: string, escapeCharacter: string): string[] {
  const words: string[] = [];
  let word = "";
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (character === escapeCharacter && quote !== "'" && at + 1 < text.length) {
      word += character + text[++at];
      continue;
    }
    if (quote === "" && /\s/.test(character)) {
      if (word !== "") words.push(word);
      word = "";
      continue;
    }
    if (quote === "" && (character === '"' || character === "'")) quote = character;
    else if (character === quote) quote = "";
    word += character;
  }
  return word === "" ? words : [...words, word];
}

/** Removes quotes and escapes, and replaces variables. */
export function expandWord(word: string, options: ExpandOptions): string {
  const reader = new WordReader(word, options);
  return reader.read(undefined, 0);
}

/** Replaces variables, but keeps quotes: for the contents of files. */
export function expandText(text: string, options: ExpandOptions): string {
  const reader = new WordReader(text, options, { keepsQuotes: true });
  return reader.read(undefined, 0);
}

class WordReader {
  readonly #text: string;
  readonly #options: ExpandOptions;
  readonly #keepsQuotes: boolean;
  #at = 0;

  constructor(text: string, options: ExpandOptions, { keepsQuotes = false } = {}) {
    this.#text = text;
    this.#options = options;
    this.#keepsQuotes = keepsQuotes;
  }

  /** Reads until an unquoted `end`, or to the end of the text. */
  read(end: string | undefined, depth: number): string {
    if (depth > MAX_DEPTH) throw new Error(`Variables are nested more than ${MAX_DEPTH} levels deep.`);
    const { escapeCharacter } = this.#options;
    const parts: string[] = [];
    let quote = "";
    let length = 0;
    const add = (part: string) => {
      parts.push(part);
      length += part.length;
      const max = this.#keepsQuotes ? MAX_TEXT_CHARACTERS : MAX_VALUE_CHARACTERS;
      if (length > max) throw new Error(`A value is longer than ${max} characters.`);
    };
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at] as string;
      if (character === end && quote === "") break;
      if (!this.#keepsQuotes && quote === "'" && character !== "'") {
        add(character);
        this.#at += 1;
      } else if (character === escapeCharacter) {
        const next = this.#text[this.#at + 1] ?? "";
        // Between double quotes, an escape counts only before a character that has a meaning there.
        const isKept = this.#keepsQuotes
          ? next !== "$"
          : quote === '"' && !['"', "$", escapeCharacter].includes(next);
        add(isKept ? character + next : next);
        this.#at += 2;
      } else if (character === "$") {
        add(this.#readVariable(depth));
      } else if (!this.#keepsQuotes && quote === "" && (character === '"' || character === "'")) {
        quote = character;
        this.#at += 1;
      } else if (!this.#keepsQuotes && character === quote) {
        quote = "";
        this.#at += 1;
      } else {
        add(character);
        this.#at += 1;
      }
    }
    if (quote !== "") throw new Error(`A quote (${quote}) is not closed.`);
    return parts.join("");
  }

  #readVariable(depth: number): string {
    this.#at += 1;
    const isBraced = this.#text[this.#at] === "{";
    if (isBraced) this.#at += 1;
    const name = this.#readName();
    if (!isBraced) return name === "" ? "$" : (this.#options.lookup(name) ?? "");
    const value = this.#options.lookup(name);
    const [, colon = "", operator] = /^(:?)([-+?}])/.exec(this.#text.slice(this.#at, this.#at + 2)) ?? [];
    if (name === "" || operator === undefined || (operator === "}" && colon !== ""))
      throw new Error(
        `The variable \${${name.slice(0, 100)}…} is not supported: use \${NAME}, \${NAME:-default} or \${NAME:+value}.`,
      );
    this.#at += colon.length + 1;
    if (operator === "}") return value ?? "";
    const word = this.read("}", depth + 1);
    if (this.#text[this.#at] !== "}") throw new Error(`The variable \${${name} has no closing brace.`);
    this.#at += 1;
    const isSet = value !== undefined && (colon === "" || value !== "");
    if (operator === "+") return isSet ? word : "";
    if (operator === "?" && !isSet)
      throw new Error(`The variable ${name} is not set: ${word.slice(0, 200)}.`);
    return isSet ? (value as string) : word;
  }

  #readName(): string {
    const pattern = /[A-Za-z_][A-Za-z0-9_]*/y;
    pattern.lastIndex = this.#at;
    const name = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += name.length;
    return name;
  }
}
