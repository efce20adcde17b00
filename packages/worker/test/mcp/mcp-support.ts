import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../../scripts/tests/free-port.ts";
import type { Mount } from "../../src/sandboxes/local/mount.ts";

const modules = fileURLToPath(new URL("../../../../node_modules", import.meta.url));
const everything = `${modules}/@modelcontextprotocol/server-everything/dist/index.js`;

const ownNpm = fileURLToPath(new URL("../../../../.tools/node_modules/npm", import.meta.url));

/** Mounts Node, npm and node_modules into sandboxes. */
export const mounts: Mount[] = [
  { source: process.execPath, target: "/opt/mcp/node" },
  { source: modules, target: "/opt/mcp/node_modules" },
  { source: ownNpm, target: "/opt/mcp/npm" },
];
export const node = "/opt/mcp/node";
export const npm = "/opt/mcp/npm";
export const filesystem = "/opt/mcp/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";

/** A stdio server whose tools are JavaScript functions of (args, send). */
export function scriptServer(
  tools: Record<string, string>,
  before = "",
): { command: string; args: string[] } {
  const program = `
    const tools = {${Object.entries(tools).map(([name, code]) => `${JSON.stringify(name)}: ${code}`)}};
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    ${before}
    require("node:readline").createInterface({ input: process.stdin }).on("line", async (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === "initialize") send({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} },
        serverInfo: { name: "scripted", version: "7" } } });
      if (method === "tools/list") send({ id, result: { tools: Object.keys(tools).map((name) => ({ name,
        inputSchema: { type: "object" } })) } });
      if (method === "tools/call") {
        const text = await tools[params.name](params.arguments, send);
        if (text !== undefined) send({ id, result: { content: [{ type: "text", text }] } });
      }
      if (method === "notifications/cancelled") require("node:fs").appendFileSync("cancelled", line + "\\n");
    });`;
  return { command: node, args: ["-e", program] };
}

/** Starts the public `server-everything` from npm with one of its HTTP transports. */
export async function startEverything(transport: "streamableHttp" | "sse") {
  const port = await freePort();
  const child: ChildProcess = spawn(process.execPath, [everything, transport], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const ready = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (data) => {
      output += data;
      if (/listening|running/i.test(output)) ready.resolve();
    });
  child.once("exit", () => ready.reject(new Error(`The server did not start: ${output}`)));
  await ready.promise;
  const path = transport === "sse" ? "sse" : "mcp";
  return {
    port,
    url: `http://127.0.0.1:${port}/${path}`,
    output: () => output,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

export interface ReceivedRequest {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Starts an HTTP server that records the requests it receives. */
export async function startHttp(
  respond: (request: ReceivedRequest, response: ServerResponse) => void,
): Promise<{ port: number; url: string; received: ReceivedRequest[]; stop(): void }> {
  const received: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", url = "", headers } = request;
    const entry = { method, url, headers, body: Buffer.concat(chunks).toString() };
    received.push(entry);
    respond(entry, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { port, url: `http://127.0.0.1:${port}/mcp`, received, stop };
}

/** Responds as an MCP server with one tool `say`, whose result the caller provides. */
export function respondAsMcp(
  { body }: ReceivedRequest,
  response: ServerResponse,
  say: (input: object) => string,
) {
  if (body === "") return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(body);
  const json = (result: object) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  if (id === undefined) return response.writeHead(202).end();
  const serverInfo = { name: "test", version: "1" };
  if (method === "initialize")
    return json({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo });
  if (method === "tools/list") return json({ tools: [{ name: "say", inputSchema: { type: "object" } }] });
  return json({ content: [{ type: "text", text: say(params.arguments) }] });
}
