import { createServer, request } from "node:http";
import { connect } from "node:net";
import { serve } from "./egress-support.ts";

interface UpstreamOptions {
  login?: string;
  /** Returns where the proxy reaches a name. Default: on loopback. */
  addressOf?(name: string): string;
}

/** A company's proxy. It records what it is asked for. */
export async function startUpstream({ login, addressOf = () => "127.0.0.1" }: UpstreamOptions = {}) {
  const seen: string[] = [];
  const headers: string[] = [];
  const isAllowed = (authorization: string | undefined) =>
    login === undefined || authorization === `Basic ${Buffer.from(login).toString("base64")}`;
  const server = createServer((incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    headers.push(JSON.stringify(incoming.headers));
    if (!isAllowed(incoming.headers["proxy-authorization"]))
      return response.writeHead(407, { "proxy-authenticate": 'Basic realm="company"' }).end("log in");
    const { hostname, port, pathname } = new URL(incoming.url ?? "");
    const outgoing = request({
      host: addressOf(hostname),
      port: port || 80,
      path: pathname,
      method: incoming.method,
      headers: incoming.headers,
    });
    outgoing.on("error", () => response.writeHead(502).end("the company's error page"));
    outgoing.on("response", (answer) =>
      answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers)),
    );
    incoming.pipe(outgoing);
  });
  server.on("connect", (incoming, client, head) => {
    seen.push(`CONNECT ${incoming.url}`);
    headers.push(JSON.stringify(incoming.headers));
    client.on("error", () => {});
    if (!isAllowed(incoming.headers["proxy-authorization"]))
      return client.end("HTTP/1.1 407 Log in\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n");
    const [, name = "", port] = /^(.*):(\d+)$/.exec(incoming.url ?? "") ?? [];
    const target = connect({ port: Number(port), host: addressOf(name), allowHalfOpen: true });
    target.on("error", () => client.end("HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n"));
    target.on("connect", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      target.write(head);
      target.pipe(client).pipe(target);
    });
  });
  const port = await serve(server);
  return { port, seen, headers, url: `http://${login ? `${login}@` : ""}127.0.0.1:${port}` };
}
