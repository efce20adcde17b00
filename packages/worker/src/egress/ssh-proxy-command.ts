/**
 * A ProxyCommand for ssh: `node ssh-proxy-command.ts HOST PORT` connects its stdin and stdout to a tunnel through an
 * HTTP proxy. The proxy's URL is passed in OUTRIDER_PROXY, because it contains a credential and other users can see
 * arguments.
 */
import { request } from "node:http";
import type { Socket } from "node:net";
import { formatAuthority, normalizeHost } from "./host.ts";

function fail(problem: string): never {
  process.stderr.write(`outrider: ${problem}\n`);
  process.exit(1);
}

function joinStandardStreams(socket: Socket, head: Buffer): void {
  process.stdout.write(head);
  process.stdin.pipe(socket);
  socket.pipe(process.stdout);
  socket.on("error", (error: NodeJS.ErrnoException) => fail(`the connection failed (${error.code})`));
  socket.once("end", () => process.stdin.destroy());
  process.stdout.on("error", () => process.exit(1));
}

const [host = "", port = ""] = process.argv.slice(2);
const name = normalizeHost(host);
if (!name || !/^\d{1,5}$/.test(port)) fail("usage: ssh-proxy-command.ts HOST PORT");
const text = process.env.OUTRIDER_PROXY ?? "";
if (!URL.canParse(text)) fail("OUTRIDER_PROXY must be the URL of a proxy");
const proxy = new URL(text);
const credential = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;

const connectRequest = request({
  method: "CONNECT",
  host: proxy.hostname,
  port: proxy.port,
  path: formatAuthority({ host: name, port: Number(port) }),
  headers: proxy.username
    ? { "proxy-authorization": `Basic ${Buffer.from(credential).toString("base64")}` }
    : {},
});
connectRequest.on("error", (error: NodeJS.ErrnoException) => fail(`cannot reach the proxy (${error.code})`));
connectRequest.on("connect", (response, socket: Socket, head) => {
  if (response.statusCode === 200) return joinStandardStreams(socket, head);
  // The proxy's explanation is the response body.
  let body = head.toString();
  socket.on("data", (chunk) => {
    body += chunk;
  });
  socket.once("close", () => fail(body.trim() || `the proxy answered ${response.statusCode}`));
});
connectRequest.end();
