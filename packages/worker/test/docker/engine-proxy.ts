/** A proxy to the shared Docker, for what it rarely says or does. */
import { once } from "node:events";
import { get } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { sharedDocker } from "./shared-docker.ts";

interface ProxyOptions {
  /** What the responses to `GET` say instead, by the end of the path. */
  claims?: Record<string, object>;
  /** Whether the connection breaks instead of passing a request on, such as `POST /v1.41/volumes/create`. */
  isLost?(request: string): boolean;
}

/** Returns the address of the proxy, which stops when the test has finished. */
export async function startEngineProxy({ claims = {}, isLost = () => false }: ProxyOptions): Promise<string> {
  const socketPath = (await sharedDocker()).replace("unix://", "");
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const engine = connect(socketPath);
    for (const socket of [client, engine]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        engine.destroy();
      });
    }
    engine.pipe(client);
    client.on("end", () => engine.end());
    client.on("data", (chunk) => {
      const request = /^[A-Z]+ \/[^\s?]*/.exec(chunk.toString("latin1", 0, 200))?.[0] ?? "";
      if (request && isLost(request)) return client.destroy();
      const claim = Object.entries(claims).find(
        ([end]) => request.startsWith("GET ") && request.endsWith(end),
      );
      if (!claim) return engine.write(chunk);
      get({ socketPath, path: request.slice("GET ".length) }, async (answer) => {
        const body = JSON.stringify({ ...((await json(answer)) as object), ...claim[1] });
        client.write(`HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
