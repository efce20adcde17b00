import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Spawned } from "../../src/sandboxes/sandbox.ts";

/**
 * Starts an agent on the host. Its program is the body of a function that gets each message as `message`, and answers with
 * `send`, `respond` and `update`.
 */
export function startAgent(onMessage: string, atStart = ""): Spawned {
  const program = `
    const write = (text) => process.stdout.write(text);
    const send = (message) => write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const update = (update) => send({ method: "session/update", params: { sessionId: "s", update } });
    const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    ${atStart}
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const message = JSON.parse(line);
      const respond = (result) => send({ id: message.id, result });
      if (message.method === "initialize")
        return respond({ protocolVersion: 1, agentInfo: { name: "test", version: "7" } });
      ${onMessage}
    });`;
  const child = spawn(process.execPath, ["-e", program], { stdio: "pipe" });
  const ended = once(child, "close").then(([exitCode, signal]) => ({
    exitCode,
    ...(signal ? { signal } : {}),
  }));
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, ended, kill, resize() {} };
}
