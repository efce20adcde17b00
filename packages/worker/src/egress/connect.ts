/**
 * A program for ssh's ProxyCommand: `node connect.ts HOST PORT` joins its standard input and output with a tunnel
 * through the proxy whose URL is in OUTRIDER_PROXY. It holds a credential, and arguments are for everyone to see.
 */
import { request } from "node:http";
import type { Socket } from "node:net";
import { authorityOf, hostOf } from "./host.ts";

function fail(problem: string): never {
  process.stderr.write(`outrider: ${problem}\n`);
  process.exit(1);
}

function joinStandardStreams(socket: Socket, head: Buffer): void {
  process.stdout.write(head);
  process.stdin.pipe(socket);
  socket.pipe(process.stdout);
  socket.on("error", (error: NodeJS.ErrnoException) => fail(`the connection broke (${error.code})`));
  socket.once("end", () => process.stdin.destroy());
  process.stdout.on("error", () => process.exit(1));
}

const [host = "", port = ""] = process.argv.slice(2);
const name = hostOf(host);
if (!name || !/^\d{1,5}$/.test(port)) fail("usage: connect.ts HOST PORT");
const text = process.env.OUTRIDER_PROXY ?? "";
if (!URL.canParse(text)) fail("OUTRIDER_PROXY must be the URL of a proxy");
const proxy = new URL(text);
const credential = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;

const asking = request({
  method: "CONNECT",
  host: proxy.hostname,
  port: proxy.port,
  path: authorityOf({ host: name, port: Number(port) }),
  headers: proxy.username
    ? { "proxy-authorization": `Basic ${Buffer.from(credential).toString("base64")}` }
    : {},
});
asking.on("error", (error: NodeJS.ErrnoException) => fail(`cannot reach the proxy (${error.code})`));
asking.on("connect", (response, socket: Socket, head) => {
  if (response.statusCode === 200) return joinStandardStreams(socket, head);
  // What the proxy has to say follows the head of its answer.
  let said = head.toString();
  socket.on("data", (chunk) => {
    said += chunk;
  });
  socket.once("close", () => fail(said.trim() || `the proxy answered ${response.statusCode}`));
});
asking.end();
