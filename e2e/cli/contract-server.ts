import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type OperationId, operations } from "@outrider/contract/routes";

/**
 * A server that answers with prepared responses. It validates requests and responses with the contract. Tests use it for states that
 * a real server reaches only together with a forge.
 */

export interface Received {
  operation: OperationId;
  params: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
}

type Answer = (received: Received) => unknown;

export interface ContractServer extends AsyncDisposable {
  origin: string;
  received: Received[];
  /** Replaces the answers. An answer that throws a number is a response with this status. */
  answer(answers: Partial<Record<OperationId, Answer>>): void;
}

export async function startContractServer(): Promise<ContractServer> {
  let answers: Partial<Record<OperationId, Answer>> = {};
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const url = new URL(request.url ?? "", "http://server");
    const send = (status: number, value: unknown) => {
      const isBinary = value instanceof Uint8Array;
      const type = isBinary ? "application/octet-stream" : "application/json";
      response.writeHead(status, { "content-type": type });
      response.end(isBinary ? value : JSON.stringify(value));
    };
    try {
      const found = findOperation(request.method ?? "", url.pathname);
      if (!found) return send(404, { status: 404, message: `No route ${url.pathname}` });
      const { operation, params, route } = found;
      const query = Object.fromEntries(url.searchParams);
      const parsed = body === "" ? undefined : JSON.parse(body);
      if (route.body) route.body.parse(parsed);
      if (route.query) route.query.parse(query);
      const call = { operation, params, query, body: parsed };
      received.push(call);
      const answer = answers[operation]?.(call);
      if (typeof answer === "number") return send(answer, { status: answer, message: `Status ${answer}.` });
      const [[status, { schema }] = ["500", { schema: undefined }]] = Object.entries(route.responses);
      schema?.parse(answer);
      if (status === "204") response.writeHead(204).end();
      else send(Number(status), answer ?? {});
    } catch (error) {
      send(400, { status: 400, message: `The test's contract is violated: ${(error as Error).message}` });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer(next) {
      answers = next;
      received.length = 0;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function findOperation(method: string, path: string) {
  for (const [operation, route] of operations) {
    const pattern = route.path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)");
    const match = new RegExp(`^/api/v1${pattern}$`).exec(path);
    if (match && route.method === method) return { operation, route, params: { ...match.groups } };
  }
  return undefined;
}
