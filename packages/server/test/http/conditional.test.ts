import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FILE, workedRun } from "../runs/shares/worked-run.ts";
import { type TestServer, testServer } from "../server.ts";

/** Conditional requests, ranges and compression. */

let server: TestServer;
let worked: Awaited<ReturnType<typeof workedRun>>;
let content: string;

beforeAll(async () => {
  server = await testServer();
  worked = await workedRun(server, server.key);
  content = `/agent/artifacts/${worked.artifact_id}/content`;
});
afterAll(() => server.stop());

const get = (path: string, headers: Record<string, string> = {}) => server.call("GET", path, { headers });
const tagOf = async (path: string) => (await get(path)).headers.get("etag") as string;

describe("an ETag", () => {
  test.each([
    ["a run", () => `/agent/runs/${worked.run_id}`],
    ["a page of runs", () => "/agent/runs?state=FAILED"],
    ["the OpenAPI document", () => "/openapi.json"],
    ["an artifact", () => `/agent/artifacts/${worked.artifact_id}`],
    ["the content of an artifact", () => content],
    ["the events of a run", () => `/agent/runs/${worked.run_id}/events`],
  ])("of %s gets 304 as long as nothing changes", async (_, pathOf) => {
    const path = pathOf();
    const { headers } = await get(path);
    const tag = headers.get("etag") as string;
    const vary = headers.get("vary");
    expect(tag).toMatch(/^(W\/)?"[\w-]{20,}"$/);
    for (const sent of [tag, `"other", ${tag}`, tag.replace(/^W\//, ""), "*"]) {
      const { status, text, headers } = await get(path, { "if-none-match": sent });
      expect([status, text, headers.get("etag")]).toEqual([304, "", tag]);
      expect(headers.get("content-type")).toBeNull();
      expect(headers.get("vary")).toBe(vary);
    }
    for (const sent of ['"other"', 'W/"other"', tag.slice(0, -2), ""]) {
      expect((await get(path, { "if-none-match": sent })).status).toBe(200);
    }
  });

  test("of JSON gets a 304 that varies with the encoding, like the response", async () => {
    const path = `/agent/runs/${worked.run_id}`;
    const { status, headers } = await get(path, { "if-none-match": await tagOf(path) });
    expect([status, headers.get("vary")]).toEqual([304, expect.stringContaining("accept-encoding")]);
  });

  test("changes with the run", async () => {
    const path = `/agent/runs/${worked.run_id}`;
    const before = await tagOf(path);
    await server.call("POST", `${path}/share`, { body: {} });
    const { status, headers } = await get(path, { "if-none-match": before });
    expect(status).toBe(200);
    expect(headers.get("etag")).not.toBe(before);
  });

  test("does not lift the need for a key", async () => {
    const path = `/agent/runs/${worked.run_id}`;
    const options = { key: null, headers: { "if-none-match": await tagOf(path) } };
    expect((await server.call("GET", path, options)).status).toBe(401);
  });
});

describe("a range of an artifact", () => {
  const size = FILE.length;
  const range = (value: string, headers: Record<string, string> = {}) =>
    get(content, { range: value, ...headers });

  test.each([
    ["bytes=0-3", 0, 3],
    ["bytes=5-", 5, size - 1],
    ["bytes=-4", size - 4, size - 1],
    ["bytes=2-99999", 2, size - 1],
    ["bytes=-99999", 0, size - 1],
    [`bytes=${size - 1}-`, size - 1, size - 1],
    ["BYTES=1-1", 1, 1],
  ])("%s is sent as 206", async (value, start, end) => {
    const { status, text, headers } = await range(value);
    expect([status, text]).toEqual([206, FILE.slice(start, end + 1)]);
    expect(headers.get("content-range")).toBe(`bytes ${start}-${end}/${size}`);
    expect(headers.get("content-length")).toBe(String(end - start + 1));
    expect(headers.get("content-disposition")).toContain("attachment");
  });

  test.each([`bytes=${size}-`, "bytes=99999-", "bytes=-0", `bytes=${size}-${size + 5}`])(
    "%s is outside of the content",
    async (value) => {
      const { status, body, headers } = await range(value);
      expect([status, body.error_code]).toEqual([416, "range_not_satisfiable"]);
      expect(headers.get("content-range")).toBe(`bytes */${size}`);
    },
  );

  test.each(["bytes=0-1,3-4", "bytes=4-2", "bytes=-", "bytes=a-b", "lines=0-1", "bytes 0-1"])(
    "%s is ignored",
    async (value) => {
      expect(await range(value)).toMatchObject({ status: 200, text: FILE });
    },
  );

  test("applies only to the version that If-Range names", async () => {
    const tag = await tagOf(content);
    expect(await range("bytes=0-3", { "if-range": tag })).toMatchObject({ status: 206 });
    for (const other of ['"other"', `W/${tag}`, "Wed, 21 Oct 2026 07:28:00 GMT"])
      expect(await range("bytes=0-3", { "if-range": other })).toMatchObject({ status: 200, text: FILE });
  });

  test("is offered by every response, also to HEAD", async () => {
    for (const method of ["GET", "HEAD"]) {
      const { status, headers } = await server.call(method, content, { headers: { range: "bytes=0-3" } });
      expect([status, headers.get("accept-ranges")]).toEqual([method === "GET" ? 206 : 200, "bytes"]);
    }
  });

  test("works with a share link", async () => {
    const { link } = (await server.call("POST", `/agent/runs/${worked.run_id}/share`, { body: {} })).body;
    const address = `${link}/artifacts/${worked.artifact_id}`;
    const { status, text } = await server.call("GET", address, { key: null, headers: { range: "bytes=-4" } });
    expect([status, text]).toEqual([206, FILE.slice(-4)]);
  });
});

describe("compression", () => {
  /** Returns the bytes on the wire, which `fetch` would decompress. */
  async function raw(path: string, headers: Record<string, string> = {}, init: RequestInit = {}) {
    const { request } = await import("node:http");
    const { promise, resolve, reject } = Promise.withResolvers<{
      encoding: string | undefined;
      vary: string | undefined;
      bytes: Buffer;
    }>();
    const sent = request(server.base + path, {
      method: init.method ?? "GET",
      headers: { authorization: `Bearer ${server.key}`, "accept-encoding": "gzip", ...headers },
    });
    sent.on("error", reject);
    sent.on("response", async (response) => {
      const { "content-encoding": encoding, vary } = response.headers;
      resolve({ encoding, vary, bytes: Buffer.concat(await response.toArray()) });
    });
    sent.end(init.body);
    return promise;
  }

  test("shrinks a page of 200 runs to less than an eighth", async () => {
    const create = (index: number) =>
      server.call("POST", "/agent/run", {
        body: {
          prompt: `Fix the failing test number ${index} and explain the cause.`,
          config: { name: "ci" },
        },
      });
    for (let index = 0; index < 200; index += 20)
      await Promise.all(Array.from({ length: 20 }, (_, offset) => create(index + offset)));
    const path = "/agent/runs?limit=200&config_name=ci";
    const [plain, packed] = [await raw(path, { "accept-encoding": "identity" }), await raw(path)];
    console.log(`a page of 200 runs: ${plain.bytes.length} bytes, ${packed.bytes.length} with gzip`);
    expect([plain.encoding, packed.encoding]).toEqual([undefined, "gzip"]);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 8);
    expect([plain.vary, packed.vary]).toEqual(["accept-encoding", "accept-encoding"]);
  });

  test.each([
    ["the OpenAPI document", () => "/openapi.json", {}],
    ["a transcript", () => `/agent/runs/${worked.run_id}/transcript`, { accept: "application/json" }],
  ])("applies to %s", async (_, pathOf, headers) => {
    const packed = await raw(pathOf(), headers);
    expect(packed.encoding).toBe("gzip");
    expect(JSON.parse(gunzipSync(packed.bytes).toString())).toBeTypeOf("object");
  });

  test("applies neither to small bodies nor to clients that refuse it", async () => {
    expect((await raw("/agent/secrets")).encoding).toBeUndefined();
    expect((await raw("/openapi.json", { "accept-encoding": "gzip;q=0" })).encoding).toBeUndefined();
  });

  test("never applies to a new key, even if the response is long", async () => {
    const environment_ids = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const { body } = await server.call("POST", "/agent/environments", { body: { name: `e${index}` } });
        return body.environment_id;
      }),
    );
    const body = JSON.stringify({ name: "k", type: "personal", limits: { environment_ids } });
    const headers = { "content-type": "application/json" };
    const { encoding, bytes } = await raw("/keys", headers, { method: "POST", body });
    expect(JSON.parse(bytes.toString())).toMatchObject({ key: expect.stringMatching(/^orp_/) });
    expect(bytes.length).toBeGreaterThan(1_024);
    expect(encoding).toBeUndefined();
  });

  test("never applies to event streams", async () => {
    const headers = { accept: "text/event-stream" };
    const { encoding, bytes } = await raw(`/agent/runs/${worked.run_id}/events`, headers);
    expect(encoding).toBeUndefined();
    expect(bytes.toString()).toContain("event: run.failed");
  });
});
