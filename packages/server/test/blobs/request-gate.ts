import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as send } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
}

/**
 * An HTTP proxy in front of an S3 server that records requests, and can hold them back, so that a test can kill their
 * sender.
 */
export interface RequestGate {
  url: string;
  /** From now on, requests whose URL contains the text are not forwarded. */
  hold(text: string): void;
  /** From now on, requests whose URL contains the text are answered with 503. */
  reject(text: string): void;
  /** Returns how many requests are or were held back. */
  held(): number;
  /** All requests since the last call. */
  takeRequests(): SeenRequest[];
  open(): void;
  close(): void;
}

export async function openRequestGate(target: string): Promise<RequestGate> {
  const { hostname, port } = new URL(target);
  let heldText: string | undefined;
  let rejectedText: string | undefined;
  let held = 0;
  let requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers });
    if (heldText !== undefined && request.url?.includes(heldText)) {
      held += 1;
      return;
    }
    if (rejectedText !== undefined && request.url?.includes(rejectedText)) {
      request.resume();
      return void response.writeHead(503).end();
    }
    const { method, url, headers } = request;
    // The signature covers the headers, so they are forwarded unchanged.
    const forwarded = send({ hostname, port, method, path: url, headers }, (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    request.on("error", () => forwarded.destroy());
    request.pipe(forwarded);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(text) {
      heldText = text;
    },
    reject(text) {
      rejectedText = text;
    },
    held: () => held,
    takeRequests() {
      const taken = requests;
      requests = [];
      return taken;
    },
    open() {
      heldText = undefined;
      rejectedText = undefined;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
