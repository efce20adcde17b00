/** Plays the worker in tests that stop or kill one. Usage: root, deadline in ms, each extension in ms, command. */
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { openLocalProvider } from "../src/sandboxes/local.ts";
import { inMs, silent, switchesOf } from "./sandbox-support.ts";

const [root = "", deadlineMs = "", extensionMs = "", command = ""] = process.argv.slice(2);
const say = (fact: object) => process.stdout.write(`${JSON.stringify(fact)}\n`);

const provider = await openLocalProvider({ root, log: silent });
let deadline = inMs(Number(deadlineMs));
// Where the test can see it: the sandbox's own files are on a disk of its own.
const shown = join(root, ".shown");
mkdirSync(shown);
chmodSync(shown, 0o777);
const mounts = [{ source: shown, target: "/shown", writable: true }];
const sandbox = await provider.open({ id: "played", deadline, label: {}, mounts });
say({ deadline: String(deadline), switch: switchesOf(process.pid)[0] });

if (Number(extensionMs) > 0) {
  setInterval(() => {
    deadline = inMs(Number(extensionMs));
    sandbox.extendDeadline(deadline);
    say({ deadline: String(deadline) });
  }, 50);
}
// The test decides when the command begins.
process.stdin.once("data", async () => {
  const output: Buffer[] = [];
  const result = await sandbox.exec(command, {
    signal: new AbortController().signal,
    timeoutMs: 60_000,
    onOutput: ({ data }) => output.push(data),
  });
  say({ result, output: Buffer.concat(output).toString() });
});
