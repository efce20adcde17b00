import { UsageError } from "../exit-codes.ts";

interface Jq {
  raw(json: string, filter: string, flags: string[]): Promise<string>;
}

/**
 * Applies the jq filter of `--jq` to JSON documents and prints the results in order.
 *
 * jq is compiled to WebAssembly, which takes a moment to load. Commands print without waiting, so the documents queue
 * up here, and `finish` waits for the last one.
 */
export class JsonFilter {
  readonly #filter: string;
  readonly #print: (text: string) => void;
  #printed: Promise<void> = Promise.resolve();

  constructor(filter: string, print: (text: string) => void) {
    this.#filter = filter;
    this.#print = print;
  }

  /** Rejects an invalid filter, so that a command fails before it has an effect. */
  async validate(): Promise<void> {
    const message = await this.#evaluate("null", []).then(
      () => undefined,
      (error: Error) => error.message,
    );
    // A valid filter can still fail for this input, which is not what the command will print.
    if (message?.includes("compile error")) throw new UsageError(`--jq: ${explain(message)}`);
  }

  add(value: unknown, { isIndented }: { isIndented: boolean }): void {
    const json = JSON.stringify(value);
    this.#printed = this.#printed.then(async () => {
      const text = await this.#evaluate(json, isIndented ? ["-r"] : ["-r", "-c"]).catch((error: Error) => {
        throw new UsageError(`--jq: ${explain(error.message)}`);
      });
      if (text !== "") this.#print(`${text}\n`);
    });
    // `finish` reports the error. Until then, it must not count as unhandled.
    this.#printed.catch(() => undefined);
  }

  finish(): Promise<void> {
    return this.#printed;
  }

  async #evaluate(json: string, flags: string[]): Promise<string> {
    const { raw }: Jq = await import("jq-wasm");
    return raw(json, this.#filter, flags);
  }
}

/** Removes what only makes sense for jq's own command line. */
function explain(message: string): string {
  const [line = ""] = message
    .replace(/^Failed to execute raw query: /, "")
    .replace(/^jq: error(?: \(at [^)]*\))?: /, "")
    .split("\n");
  const text = line.replace(" (Unix shell quoting issues?)", "").replace(/ at <top-level>, line 1:?.*$/, "");
  return text.replace(/[^.]$/, "$&.");
}
