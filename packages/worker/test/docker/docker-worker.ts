/**
 * A worker process for tests that stop or kill it. Arguments: the engine's address, root, owner as JSON, deadline in ms,
 * command. It freezes the sandbox when it reads a line, and then writes `frozen`.
 */
import { once } from "node:events";
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { inMs, run, silent } from "../sandboxes/sandbox-support.ts";

const [host = "", root = "", owner = "", deadlineMs = "", command = ""] = process.argv.slice(2);
const provider = await openDockerProvider({
  ...{ root, log: silent },
  docker: { engine: { host }, owner: JSON.parse(owner) },
});
const sandbox = await provider.open({ id: "left", deadline: inMs(Number(deadlineMs)), label: {} });
void once(process.stdin, "data").then(async () => {
  await sandbox.freezer?.freeze();
  process.stdout.write("frozen\n");
});
await run(sandbox, command, { timeoutMs: 600_000 });
