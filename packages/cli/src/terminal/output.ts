import { JsonFilter } from "./json-filter.ts";
import { sanitize, sanitizeJson, sanitizeLine } from "./sanitize.ts";
import { createStyle, type Style, wantsColor } from "./style.ts";
import { alignedTable, type Column, tabbedTable } from "./table.ts";

export interface OutputFlags {
  json?: boolean;
  /** A jq filter for JSON output. */
  jq?: string;
  quiet?: boolean;
  color: boolean;
}

/** Prints a command's output: data to stdout, messages to stderr. */
export class Output {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly isTerminal = process.stdout.isTTY === true;
  readonly style: Style;
  /** The style for stderr, whose color support can differ from stdout's. */
  readonly errorStyle: Style;
  readonly #filter: JsonFilter | undefined;

  constructor({ json = false, jq, quiet = false, color }: OutputFlags) {
    const { env: environment } = process;
    this.isJson = json || jq !== undefined;
    this.#filter = jq === undefined ? undefined : new JsonFilter(jq, (text) => this.printUntrusted(text));
    this.isQuiet = quiet;
    const styleFor = (isTerminal: boolean) =>
      createStyle(wantsColor({ flag: color, environment, isTerminal }));
    this.style = styleFor(this.isTerminal);
    this.errorStyle = styleFor(process.stderr.isTTY === true);
  }

  /** Rejects an invalid --jq filter, before the command has an effect. */
  async prepare(): Promise<void> {
    await this.#filter?.validate();
  }

  /** Waits until everything is printed. */
  async finish(): Promise<void> {
    await this.#filter?.finish();
  }

  /** Whether output goes to a terminal that supports animations, such as a spinner. */
  get isLive(): boolean {
    const isDumb = process.env.TERM === "dumb";
    return this.isTerminal && process.stderr.isTTY === true && !this.isJson && !this.isQuiet && !isDumb;
  }

  /** The width in columns. It is infinite without a terminal, so that nothing is truncated. */
  get width(): number {
    return this.isTerminal ? Math.max(20, process.stdout.columns || 80) : Number.POSITIVE_INFINITY;
  }

  /** Prints text that is already sanitized. */
  print(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** Prints untrusted text: sanitized on a terminal, unchanged in a pipe. */
  printUntrusted(text: string): void {
    process.stdout.write(this.isTerminal ? sanitize(text) : text);
    if (this.isTerminal && text !== "" && !text.endsWith("\n")) process.stdout.write("\n");
  }

  /** Prints a file: as sanitized text on a terminal, unchanged in a pipe. */
  printBytes(bytes: Uint8Array): void {
    if (this.isTerminal) this.printUntrusted(new TextDecoder().decode(bytes));
    else process.stdout.write(bytes);
  }

  /** Prints a JSON document, or what --jq makes of it, indented on a terminal. */
  document(value: unknown): void {
    if (this.#filter) this.#filter.add(value, { isIndented: this.isTerminal });
    else this.print(sanitizeJson(value, this.isTerminal ? 2 : undefined));
  }

  /** Prints one line of JSON, or what --jq makes of it. */
  line(value: unknown): void {
    if (this.#filter) this.#filter.add(value, { isIndented: false });
    else this.print(sanitizeJson(value));
  }

  /** Prints a message to stderr, except in quiet mode. */
  note(text: string): void {
    if (!this.isQuiet) process.stderr.write(`${text}\n`);
  }

  /** Prints a list as JSON, as IDs, or as a table. */
  list<Row>(from: {
    document: unknown;
    rows: Row[];
    id: (row: Row) => string;
    columns: Column<Row>[];
    emptyMessage: string;
  }): void {
    const { rows, columns } = from;
    const { width, style } = this;
    if (this.isJson) this.document(from.document);
    else if (rows.length === 0) this.note(from.emptyMessage);
    else if (this.isQuiet) this.print(rows.map((row) => sanitizeLine(from.id(row))).join("\n"));
    else if (this.isTerminal) this.print(alignedTable(rows, columns, { width, style }));
    else this.print(tabbedTable(rows, columns));
  }

  /** Prints one object as JSON, as its ID, or as labeled fields. Omits fields without a value. */
  item(from: { document: unknown; id: string; fields: [name: string, value: string | undefined][] }): void {
    if (this.isJson) this.document(from.document);
    else if (this.isQuiet) this.print(sanitizeLine(from.id));
    else this.#printFields(from.fields.filter((field): field is [string, string] => Boolean(field[1])));
  }

  #printFields(fields: [name: string, value: string][]): void {
    const longest = Math.max(...fields.map(([name]) => name.length));
    for (const [name, value] of fields) {
      const lines = sanitize(value).trimEnd().split("\n");
      this.print(`${this.style.dim(name.padEnd(longest))}  ${lines.join(`\n${" ".repeat(longest + 2)}`)}`);
    }
  }

  /** Reports a completed action as JSON, as an ID, or with a message. */
  done(from: { document: unknown; id: string; message: string }): void {
    if (this.isJson) this.document(from.document);
    else if (this.isQuiet) this.print(sanitizeLine(from.id));
    else this.print(sanitize(from.message));
  }
}
