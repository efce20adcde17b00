/** A worker process for tests that stop or kill it. Arguments: the engine's address, root, owner as JSON, deadline in ms, command. */
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { inMs, run, silent } from "../sandboxes/sandbox-support.ts";

const [host = "", root = "", owner = "", deadlineMs = "", command = ""] = process.argv.slice(2);
const provider = await openDockerProvider({
  ...{ root, log: silent },
  docker: { engine: { host }, owner: JSON.parse(owner) },
});
const sandbox = await provider.open({ id: "left", deadline: inMs(Number(deadlineMs)), label: {} });
process.stdout.write("open\n");
await run(sandbox, command, { timeoutMs: 600_000 });
