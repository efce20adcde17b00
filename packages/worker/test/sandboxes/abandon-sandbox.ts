/** A worker process that a test kills while it has a sandbox with a base, network and a process. Argument: root. */
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { processTag } from "../../src/sandboxes/local/process/process-tag.ts";
import { inMs, run, silent } from "./sandbox-support.ts";

const provider = await openLocalProvider({ root: process.argv[2] ?? "", log: silent });
const deadline = inMs(600_000);
const origin = await provider.open({ id: "origin", deadline, label: {} });
await run(origin, "echo kept > file");
await provider.saveBase(origin, "base");
const sandbox = await provider.open({ id: "left", deadline, label: {}, base: "base", network: () => {} });
const { signal } = new AbortController();
const spawned = await sandbox.spawn("trap '' TERM HUP; setsid sleep 1000 & echo up; sleep 1000", { signal });
spawned.stdout.once("data", () => process.stdout.write(`${processTag}\n`));
setInterval(() => {}, 1000);
