import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import type { FinishRequest } from "@outrider/contract/worker";
import { describe, expect, onTestFinished, test } from "vitest";
import { ensureSelfSigned } from "../../server/src/api/http/tls/self-signed.ts";
import { explainUntrusted } from "../src/server-client/certificate-trust.ts";
import { createHttpClient, type HttpRequest } from "../src/server-client/http.ts";
import { connectToServer } from "../src/server-client/server-client.ts";

const KEY = "secret-worker-key";
const request = { method: "GET", path: "/x", timeoutMs: 60_000 } as const;
const never = () => new AbortController().signal;

async function serve(listener: RequestListener, tls?: { cert: string; key: string }) {
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  let connections = 0;
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `${tls ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, connections: () => connections };
}

function connect(origin: string, ca?: string[]) {
  const client = createHttpClient({ origin, key: KEY, ...(ca ? { ca } : {}) });
  onTestFinished(() => client.close());
  return client;
}

describe("the worker's HTTP client", () => {
  test("sends JSON with the key and reuses its connections", async () => {
    const server = await serve(async (incoming, response) => {
      const { authorization, "content-type": type } = incoming.headers;
      response.statusCode = 409;
      response.end(JSON.stringify({ url: incoming.url, authorization, type, body: await text(incoming) }));
    });
    const client = connect(server.origin);
    for (let call = 0; call < 10; call++) {
      const body = { text: "ä" };
      const { status, body: answer } = await client.send({
        ...request,
        method: "POST",
        body,
        signal: never(),
      });
      expect({ status, ...JSON.parse(answer.toString()) }).toEqual({
        status: 409,
        url: "/api/v1/worker/x",
        authorization: `Bearer ${KEY}`,
        type: "application/json",
        body: JSON.stringify(body),
      });
    }
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  test("uploads bytes and streams, and fails with the stream's error", async () => {
    const server = await serve(async (incoming, response) => {
      const received = await buffer(incoming).catch(() => Buffer.alloc(0));
      response.end(`${incoming.headers["content-type"]} ${received.length}`);
    });
    const client = connect(server.origin);
    const upload = (content: Readable | Buffer) =>
      client
        .send({ ...request, method: "PUT", content, signal: never() })
        .then(({ body }) => body.toString());
    const chunks = Array.from({ length: 100 }, () => Buffer.alloc(65_536));
    expect(await upload(Readable.from(chunks))).toBe("application/octet-stream 6553600");
    expect(await upload(Buffer.alloc(5))).toBe("application/octet-stream 5");
    expect(await upload(Buffer.alloc(0))).toBe("application/octet-stream 0");
    const failing = Readable.from(
      (async function* () {
        yield Buffer.alloc(10);
        throw new Error("the disk failed");
      })(),
    );
    await expect(upload(failing)).rejects.toThrow("the disk failed");
  });

  test("returns a response as a stream, and rejects any status but 200", async () => {
    const server = await serve((incoming, response) => {
      response.statusCode = incoming.url?.endsWith("/missing") ? 404 : 200;
      response.end(incoming.headers.accept);
    });
    const client = connect(server.origin);
    const open = (path: string) =>
      client.open({ ...request, path, accept: "text/event-stream", signal: never() });
    expect(await text(await open("/signals"))).toBe("text/event-stream");
    await expect(open("/missing")).rejects.toMatchObject({ status: 404 });
  });

  test.each<[string, RequestListener]>([
    ["no response", () => {}],
    [
      "an unfinished response",
      (_, response) => {
        response.write("begin");
      },
    ],
  ])("gives up after the timeout on %s, without naming the key", async (_, listener) => {
    const client = connect((await serve(listener)).origin);
    const error = await client
      .send({ ...request, timeoutMs: 100, signal: never() })
      .catch((reason) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(JSON.stringify([error, error.message, error.stack, error.cause])).not.toContain(KEY);
  });

  test.each<[string, (end: { close(): void; abort(): void }) => void]>([
    ["close", ({ close }) => close()],
    ["the signal", ({ abort }) => abort()],
  ])("%s ends requests and streams, even if nobody reads them yet", async (_, end) => {
    const arrived = Promise.withResolvers<void>();
    const server = await serve((incoming, response) => {
      if (incoming.url?.endsWith("/stream")) response.write("begin");
      else arrived.resolve();
    });
    const client = connect(server.origin);
    const controller = new AbortController();
    const options: HttpRequest = { ...request, signal: controller.signal };
    const stream = await client.open({ ...options, path: "/stream", accept: "*/*" });
    const waiting = client.send(options).then(
      () => "answered",
      () => "rejected",
    );
    await arrived.promise;
    end({ close: () => client.close(), abort: () => controller.abort() });
    expect(await waiting).toBe("rejected");
    if (!stream.closed) await new Promise((resolve) => stream.once("close", resolve));
    await expect(text(stream)).rejects.toThrow();
  });

  test("trusts the given authorities, and explains a certificate that it does not trust", async () => {
    const folder = mkdtempSync(join(tmpdir(), "outrider-http-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const files = await ensureSelfSigned(folder, ["127.0.0.1"]);
    const cert = readFileSync(files.cert, "utf8");
    const server = await serve((_, response) => response.end("ok"), {
      cert,
      key: readFileSync(files.key, "utf8"),
    });
    const send = (ca?: string[]) => connect(server.origin, ca).send({ ...request, signal: never() });
    expect((await send([cert])).body.toString()).toBe("ok");
    const error = await send().catch((reason) => reason);
    expect(explainUntrusted(error)).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
  });
});

test("deltas have a number only if the server of the last claim offers it", async () => {
  const numbers: unknown[] = [];
  let offers = {};
  const server = await serve(async (incoming, response) => {
    const body = JSON.parse(await text(incoming));
    if (incoming.url?.endsWith("/claim"))
      return response.end(JSON.stringify({ executions: [], builds: [], draining: false, ...offers }));
    expect(body).toMatchObject({ run_id: "r", text: "a" });
    numbers.push(body.index);
    response.writeHead(204).end();
  });
  const client = connectToServer({ url: server.origin, key: KEY });
  onTestFinished(() => client.stop());
  const worker = { worker_id: "w", name: "w", version: "0", slots: 1 };
  for (const offered of [undefined, true, false]) {
    offers = { offers_delta_index: offered };
    await client.claim({ request_id: "q", worker, free: 1, wait_ms: 0 }, never());
    await client.delta("e", { run_id: "r", index: 7, text: "a" }, never());
  }
  expect(numbers).toEqual([undefined, 7, undefined]);
});

describe("turns that end at the same time", () => {
  const ids = ["a", "b", "c"];
  const usage = {
    input_tokens: 0,
    cached_input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    steps: 0,
    run_seconds: 0,
  };
  const end = (id: string): FinishRequest => {
    const outcome = { type: "succeeded", text: id } as const;
    return { run_id: id, batch: 1, events: [], usage, outcome };
  };
  const worker = { worker_id: "w", name: "w", version: "0", slots: 9 };

  /** Starts a server and a client. `finishAll` answers the requests with several ends of turns. */
  async function start(
    finishAll: (executionIds: string[], response: ServerResponse) => unknown,
    offers: object = { offers_finish_all: true },
  ) {
    const requests: string[] = [];
    const server = await serve(async (incoming, response) => {
      const path = incoming.url?.replace("/api/v1/worker", "") as string;
      const body = JSON.parse(await text(incoming));
      if (path === "/claim")
        return response.end(JSON.stringify({ executions: [], builds: [], draining: false, ...offers }));
      requests.push(path);
      const { finishes } = body as { finishes?: { execution_id: string }[] };
      if (finishes)
        return finishAll(
          finishes.map(({ execution_id }) => execution_id),
          response,
        );
      expect(body).toEqual(end(body.run_id));
      return response.end(JSON.stringify({ ended: true, followups: [] }));
    });
    const client = connectToServer({ url: server.origin, key: KEY });
    onTestFinished(() => client.stop());
    await client.claim({ request_id: "q", worker, free: 1, wait_ms: 0 }, never());
    const finish = (id: string, signal = never()) => client.finish(id, end(id), signal);
    return { finish, requests };
  }

  const endAll = (executionIds: string[], response: ServerResponse) => {
    const finished = executionIds.map((execution_id) => ({ execution_id, ended: true, followups: [] }));
    response.end(JSON.stringify({ finished }));
  };
  const ended = { ended: true, followups: [] };
  const alone = ids.map((id) => `/executions/${id}/finish`);

  test("share a request", async () => {
    const { finish, requests } = await start(endAll);
    expect(await Promise.all(ids.map((id) => finish(id)))).toEqual([ended, ended, ended]);
    expect(requests).toEqual(["/finish"]);
  });

  test("do not share it with a server that does not offer this", async () => {
    const { finish, requests } = await start(endAll, {});
    expect(await Promise.all(ids.map((id) => finish(id)))).toEqual([ended, ended, ended]);
    expect(requests.toSorted()).toEqual(alone);
  });

  test("are reported alone if the server left them out", async () => {
    const { finish, requests } = await start(([first], response) => endAll([first as string], response));
    expect(await Promise.all(ids.map((id) => finish(id)))).toEqual([ended, ended, ended]);
    expect(requests.toSorted()).toEqual([...alone.slice(1), "/finish"]);
  });

  test.each([404, 500])("are reported alone if the shared request gets a %i", async (status) => {
    const { finish, requests } = await start((_, response) => response.writeHead(status).end());
    expect(await Promise.all(ids.map((id) => finish(id)))).toEqual([ended, ended, ended]);
    expect(requests.toSorted()).toEqual([...alone, "/finish"]);
  });

  test("do not wait for the shared request when the lease is lost", async () => {
    const { finish } = await start(() => {});
    const lost = new AbortController();
    const finishing = ids.map((id) => finish(id, lost.signal));
    setImmediate(() => lost.abort(new Error("lease lost")));
    for (const { status } of await Promise.allSettled(finishing)) expect(status).toBe("rejected");
  });

  test("do not wait for a shared request that takes long", async () => {
    const { finish, requests } = await start(
      (executionIds, response) => executionIds.includes("a") || endAll(executionIds, response),
    );
    for (const id of ["a", "b"]) void finish(id).catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    expect(await Promise.all([finish("c"), finish("d")])).toEqual([ended, ended]);
    expect(requests).toEqual(["/finish", "/finish"]);
  });

  test("are reported alone if there is only one", async () => {
    const { finish, requests } = await start(endAll);
    expect(await finish("a")).toEqual(ended);
    expect(requests).toEqual(alone.slice(0, 1));
  });
});

describe("direct transfers of files", () => {
  const large = Buffer.alloc(2 ** 20, "large");
  const sha256 = "a".repeat(64);
  const start = async (listener: RequestListener) => {
    const requests: string[] = [];
    const server = await serve((incoming, response) => {
      requests.push(`${incoming.method} ${incoming.url?.replace(/^.*blobs\/a+/, "")}`);
      incoming.resume().on("end", () => listener(incoming, response));
    });
    const client = connectToServer({ url: server.origin, key: KEY });
    onTestFinished(() => client.stop());
    return { client, requests };
  };

  test("an older server does not offer them, and gets the files itself", async () => {
    const { client, requests } = await start((incoming, response) => {
      response.writeHead(incoming.method === "POST" ? 404 : 204).end();
    });
    for (const content of [large, large, large.subarray(1)]) await client.putBlob(content, sha256, never());
    expect(requests).toEqual([`POST /upload?size=${2 ** 20}`, "PUT ", "PUT ", "PUT "]);
  });

  test("a worker that cannot reach the storage uses the server, for uploads and downloads", async () => {
    const url = "http://127.0.0.1:1/bucket";
    const { client, requests } = await start(({ method, url: path }, response) => {
      if (method === "POST") response.end(JSON.stringify({ type: "direct", url, headers: {} }));
      else if (path?.includes("direct")) response.writeHead(307, { location: url }).end();
      else response.writeHead(method === "PUT" ? 204 : 200).end(method === "GET" ? "content" : undefined);
    });
    expect(await text(await client.getBlob(sha256, never()))).toBe("content");
    expect(await text(await client.getBlob(sha256, never()))).toBe("content");
    expect(requests).toEqual(["GET ?direct=true", "GET ", "GET "]);
    const other = await start(({ method }, response) => {
      if (method === "POST") response.end(JSON.stringify({ type: "direct", url, headers: {} }));
      else response.writeHead(204).end();
    });
    await other.client.putBlob(large, sha256, never());
    expect(other.requests).toEqual([`POST /upload?size=${2 ** 20}`, "PUT "]);
  });

  test("a stored file is not uploaded again", async () => {
    const { client, requests } = await start((_, response) => {
      response.end(JSON.stringify({ type: "stored" }));
    });
    await client.putBlob(large, sha256, never());
    expect(requests).toEqual([`POST /upload?size=${2 ** 20}`]);
  });
});

test("a worker learns the id of the installation, unless the server is of an older version", async () => {
  const installation_id = randomUUID();
  const start = async (status: number) => {
    const server = await serve(({ url }, response) => {
      response.writeHead(url === "/api/v1/worker/installation" ? status : 500);
      response.end(
        JSON.stringify(status === 200 ? { installation_id } : { error: { message: "not found" } }),
      );
    });
    const client = connectToServer({ url: server.origin, key: KEY });
    onTestFinished(() => client.stop());
    return client;
  };
  expect(await (await start(200)).installationId(never())).toBe(installation_id);
  expect(await (await start(404)).installationId(never())).toBe(undefined);
  await expect((await start(401)).installationId(never())).rejects.toThrow("401");
});
