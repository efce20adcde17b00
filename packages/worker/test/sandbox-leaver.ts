/** Plays a worker that is killed with work in its hands: a sandbox over a base, with network and a process. Usage: root. */
import { openLocalProvider } from "../src/sandboxes/local.ts";
import { mark } from "../src/sandboxes/mark.ts";
import { inMs, run, silent } from "./sandbox-support.ts";

const provider = await openLocalProvider({ root: process.argv[2] ?? "", log: silent });
const deadline = inMs(600_000);
const origin = await provider.open({ id: "origin", deadline, label: {} });
await run(origin, "echo kept > file");
await provider.keepBase(origin, "base");
const sandbox = await provider.open({ id: "left", deadline, label: {}, base: "base", network: () => {} });
const { signal } = new AbortController();
const spawned = await sandbox.spawn("trap '' TERM HUP; setsid sleep 1000 & echo up; sleep 1000", { signal });
spawned.stdout.once("data", () => process.stdout.write(`${mark}\n`));
setInterval(() => {}, 1000);
