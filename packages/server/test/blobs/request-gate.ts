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
  /** From now on, requests whose line, such as `PUT /bucket/key?partNumber=2`, matches are not forwarded. */
  hold(line: RegExp): void;
  /** From now on, such requests are forwarded, but not answered. */
  holdAnswer(line: RegExp): void;
  /** From now on, such requests are answered with 503. */
  reject(line: RegExp): void;
  /** Returns how many requests are or were held back. */
  held(): number;
  /** All requests since the last call. */
  takeRequests(): SeenRequest[];
  open(): void;
  close(): void;
}

export async function openRequestGate(target: string): Promise<RequestGate> {
  const { hostname, port } = new URL(target);
  let behavior: { of: RegExp; kind: "hold" | "holdAnswer" | "reject" } | undefined;
  let held = 0;
  let requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers });
    const applied = behavior?.of.test(`${request.method} ${request.url}`) ? behavior.kind : undefined;
    if (applied === "hold") {
      held += 1;
      return;
    }
    if (applied === "reject") {
      request.resume();
      return void response.writeHead(503).end();
    }
    const { method, url, headers } = request;
    // The signature covers the headers, so they are forwarded unchanged.
    const forwarded = send({ hostname, port, method, path: url, headers }, (answer: IncomingMessage) => {
      if (applied === "holdAnswer") {
        answer.resume().on("end", () => {
          held += 1;
        });
        return;
      }
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
    hold(of) {
      behavior = { of, kind: "hold" };
    },
    holdAnswer(of) {
      behavior = { of, kind: "holdAnswer" };
    },
    reject(of) {
      behavior = { of, kind: "reject" };
    },
    held: () => held,
    takeRequests() {
      const taken = requests;
      requests = [];
      return taken;
    },
    open() {
      behavior = undefined;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
