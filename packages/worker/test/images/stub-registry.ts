/** A registry that answers as a test says, for what a real one never does. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { sha256, type TestImage } from "./registry-server.ts";

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts an HTTP server for one test. Returns its `host:port`. */
export async function serve(handler: Handler): Promise<string> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Serves an image. A function in `overrides` answers the requests whose path starts with its key instead. */
export async function serveImage(image: TestImage, overrides: Record<string, Handler> = {}): Promise<string> {
  const host = await serve((request, response) => {
    const path = (request.url ?? "").replace("/v2/app/", "");
    const override = Object.entries(overrides).find(([prefix]) => path.startsWith(prefix))?.[1];
    (override ?? answer(image))(request, response);
  });
  return `${host}/app:v1`;
}

/** The usual answer. */
export function answer(image: TestImage): Handler {
  return ({ url = "", method, headers }, response) => {
    if (url.includes("/manifests/")) {
      response.writeHead(200, { "content-type": image.mediaType, "docker-content-digest": image.digest });
      response.end(method === "HEAD" ? undefined : image.manifest);
      return;
    }
    const blob = image.blobs.find((data) => url.endsWith(sha256(data)));
    const offset = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
    if (!blob) response.writeHead(404).end();
    else if (offset === 0) response.end(blob);
    else
      response
        .writeHead(206, { "content-range": `bytes ${offset}-${blob.length - 1}/${blob.length}` })
        .end(blob.subarray(offset));
  };
}

/** Sends data without an end. */
export const endless: Handler = (_request, response) => {
  const chunk = Buffer.alloc(256 * 1024, " ");
  const write = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", write);
  write();
};
