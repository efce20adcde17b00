import type { Db } from "../../src/store/connection/db.ts";

/** Records the statements of a pool until it is disposed of. */
export function recordStatements(db: Db): AsyncDisposable & { texts: string[] } {
  const texts: string[] = [];
  // The driver reads `debug` from its options for each statement, so the hook can be set later.
  const options = db.options as { debug?: unknown };
  const before = options.debug;
  options.debug = (_connection: number, text: string) => texts.push(text);
  return {
    texts,
    async [Symbol.asyncDispose]() {
      options.debug = before;
    },
  };
}
