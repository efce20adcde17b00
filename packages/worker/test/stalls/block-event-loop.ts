import { subscribe } from "node:diagnostics_channel";
import { appendFileSync, openSync, readFileSync, readSync } from "node:fs";

/**
 * Loaded with `--import` into all processes of a worker under test. It blocks the event loop when the worker reports an
 * event that contains a marker, as a function does that hostile input keeps busy. It also records which process sends
 * which request. Environment variables:
 * - BLOCK_LOG: the file that the requests and blocks are recorded in.
 * - BLOCK_FIFO: a named pipe without a writer, so that reading it blocks in native code.
 */

const { BLOCK_LOG = "", BLOCK_FIFO = "" } = process.env;
const record = (line: string) => appendFileSync(BLOCK_LOG, `${process.pid} ${line}\n`);

const blockers: Record<string, () => void> = {
  "BLOCK IN A REGULAR EXPRESSION": () => {
    /^(a+)+$/.test(`${"a".repeat(200)}b`);
  },
  // The inspector cannot interrupt native code. Blocks only once, in whichever process comes first.
  "BLOCK ONCE IN NATIVE CODE": () => {
    if (readFileSync(BLOCK_LOG, "utf8").split("BLOCK ONCE").length === 2)
      readSync(openSync(BLOCK_FIFO, "r+"), Buffer.alloc(1));
  },
};

subscribe("undici:request:create", (message) => {
  const { path, body } = (message as { request: { path: string; body: unknown } }).request;
  record(path);
  for (const [marker, block] of Object.entries(blockers)) {
    if (!/\/(report|finish)$/.test(path) || !String(body).includes(marker)) continue;
    record(marker);
    block();
  }
});
