import { harmless, harmlessJson, harmlessLine } from "./harmless.ts";
import { makeStyle, type Style, wantsColour } from "./style.ts";
import { alignedTable, type Column, tabbedTable } from "./table.ts";

export interface OutputFlags {
  json?: boolean;
  quiet?: boolean;
  color: boolean;
}

/** Where a command says what: data on stdout, words about it on stderr. */
export class Output {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly isTerminal = process.stdout.isTTY === true;
  readonly style: Style;
  /** For what goes to stderr. */
  readonly errorStyle: Style;

  constructor({ json = false, quiet = false, color }: OutputFlags) {
    const { env: environment } = process;
    this.isJson = json;
    this.isQuiet = quiet;
    const wants = (isTerminal: boolean) => makeStyle(wantsColour({ flag: color, environment, isTerminal }));
    this.style = wants(this.isTerminal);
    this.errorStyle = wants(process.stderr.isTTY === true);
  }

  /** Whether somebody watches, so that a line may move. */
  get isLive(): boolean {
    const isDumb = process.env.TERM === "dumb";
    return this.isTerminal && process.stderr.isTTY === true && !this.isJson && !this.isQuiet && !isDumb;
  }

  /** Columns to write in; without a terminal nothing is cut. */
  get width(): number {
    return this.isTerminal ? Math.max(20, process.stdout.columns || 80) : Number.POSITIVE_INFINITY;
  }

  /** Made of our own words and of what is harmless already. */
  print(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** Foreign text: as it is for programs, harmless for a terminal. */
  printForeign(text: string): void {
    process.stdout.write(this.isTerminal ? harmless(text) : text);
    if (this.isTerminal && text !== "" && !text.endsWith("\n")) process.stdout.write("\n");
  }

  /** A file: as it is for programs. A terminal gets it as text that it does not obey. */
  printBytes(bytes: Uint8Array): void {
    if (this.isTerminal) this.printForeign(new TextDecoder().decode(bytes));
    else process.stdout.write(bytes);
  }

  /** One document, in lines where a person reads it. */
  document(value: unknown): void {
    this.print(harmlessJson(value, this.isTerminal ? 2 : undefined));
  }

  /** One of many. */
  line(value: unknown): void {
    this.print(harmlessJson(value));
  }

  /** Words for people. */
  say(text: string): void {
    if (!this.isQuiet) process.stderr.write(`${text}\n`);
  }

  /** A list: the document, the ids, or a table. */
  list<Row>(from: {
    document: unknown;
    rows: Row[];
    id: (row: Row) => string;
    columns: Column<Row>[];
    /** What to say where there are none. */
    none: string;
  }): void {
    const { rows, columns } = from;
    const { width, style } = this;
    if (this.isJson) this.document(from.document);
    else if (rows.length === 0) this.say(from.none);
    else if (this.isQuiet) this.print(rows.map((row) => harmlessLine(from.id(row))).join("\n"));
    else if (this.isTerminal) this.print(alignedTable(rows, columns, { width, style }));
    else this.print(tabbedTable(rows, columns));
  }

  /** One thing: the document, its id, or its members with a name each. Members without a value are left out. */
  item(from: { document: unknown; id: string; members: [name: string, value: string | undefined][] }): void {
    if (this.isJson) this.document(from.document);
    else if (this.isQuiet) this.print(harmlessLine(from.id));
    else this.#members(from.members.filter((each): each is [string, string] => Boolean(each[1])));
  }

  #members(members: [name: string, value: string][]): void {
    const longest = Math.max(...members.map(([name]) => name.length));
    for (const [name, value] of members) {
      const lines = harmless(value).trimEnd().split("\n");
      this.print(`${this.style.dim(name.padEnd(longest))}  ${lines.join(`\n${" ".repeat(longest + 2)}`)}`);
    }
  }

  /** Something was done: its answer for programs, its id alone, or a sentence. */
  done(from: { document: unknown; id: string; says: string }): void {
    if (this.isJson) this.document(from.document);
    else if (this.isQuiet) this.print(harmlessLine(from.id));
    else this.print(harmless(from.says));
  }
}
