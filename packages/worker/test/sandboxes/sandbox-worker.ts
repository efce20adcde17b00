/** A worker process for tests that stop or kill it. Arguments: root, deadline in ms, extension in ms, command. */
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { processTag } from "../../src/sandboxes/local/process/process-tag.ts";
import { inMs, silent, watchdogsOf } from "./sandbox-support.ts";

const [root = "", deadlineMs = "", extensionMs = "", command = ""] = process.argv.slice(2);
const report = (fact: object) => process.stdout.write(`${JSON.stringify(fact)}\n`);

// A mount that the test can read. The sandbox's own files are on a separate disk image.
const shown = join(root, ".shown");
mkdirSync(shown, { recursive: true });
chmodSync(shown, 0o777);
const mounts = [{ source: shown, target: "/shown", writable: true }];
const provider = await openLocalProvider({ root, mounts, log: silent });
// The time of the check that opens the provider does not count.
let deadline = inMs(Number(deadlineMs));
const sandbox = await provider.open({ id: "sandbox", deadline, label: {} });
report({ deadline: String(deadline), watchdog: watchdogsOf(process.pid)[0], tag: processTag });

if (Number(extensionMs) > 0) {
  setInterval(() => {
    deadline = inMs(Number(extensionMs));
    sandbox.extendDeadline(deadline);
    report({ deadline: String(deadline) });
  }, 50);
}
// The test decides when the command starts.
process.stdin.once("data", async () => {
  const output: Buffer[] = [];
  const result = await sandbox.exec(command, {
    signal: new AbortController().signal,
    timeoutMs: 60_000,
    onOutput: ({ data }) => output.push(data),
  });
  report({ result, output: Buffer.concat(output).toString() });
});
