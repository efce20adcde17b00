import { AsyncLocalStorage } from "node:async_hooks";

/** The execution, build or shell on whose behalf code runs. */
export type CurrentWork =
  | { run_id: string; execution_id: string }
  | { build_id: string }
  | { shell_id: string };

const storage = new AsyncLocalStorage<CurrentWork>();

// The watchdog's thread reads the storage with an expression, which can only reach global names.
const globalName = "outrider.current-work";
Reflect.set(globalThis, Symbol.for(globalName), storage);
export const currentWorkExpression = `globalThis[Symbol.for("${globalName}")]?.getStore()`;

/** Calls `start`. Everything that it starts, directly or later, runs on behalf of `work`. */
export function runOnBehalfOf<T>(work: CurrentWork, start: () => T): T {
  return storage.run(work, start);
}
