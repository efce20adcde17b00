import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type FaultProxy, startFaultProxy } from "../../../e2e/clients/fault-proxy.ts";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { type TestServer, testServer } from "../../server/test/server.ts";
import manifest from "../package.json" with { type: "json" };
import { type ClientOptions, Outrider } from "../src/client.ts";
import {
  APIStatusError,
  APIUserAbortError,
  AuthenticationError,
  OutriderError,
  WaitTimeoutError,
} from "../src/errors.ts";
import { retryDelay } from "../src/retry.ts";
import { version } from "../src/version.ts";

let server: TestServer;
let proxy: FaultProxy;

beforeAll(async () => {
  server = await testServer();
  proxy = await startFaultProxy(server.origin);
});
afterAll(async () => {
  await proxy?.close();
  await server?.stop();
});
afterEach(() => {
  proxy.set([]);
  vi.unstubAllEnvs();
});

function connect(options: ClientOptions = {}): Outrider {
  return new Outrider({ apiKey: server.key, baseURL: `${proxy.origin}/api/v1`, logLevel: "off", ...options });
}

const create = (client: Outrider, prompt: string, mark: string) =>
  client.runs.create({ prompt, metadata: { mark } });

describe("client options", () => {
  test("default to environment variables", async () => {
    vi.stubEnv("OUTRIDER_API_KEY", server.key);
    vi.stubEnv("OUTRIDER_BASE_URL", `${proxy.origin}/api/v1/`);
    expect((await new Outrider().me.get()).key?.name).toBe("first key");
  });

  test.each<[string, ClientOptions, RegExp]>([
    ["no key", { apiKey: undefined } as unknown as ClientOptions, /OUTRIDER_API_KEY/],
    ["a key with a line break", { apiKey: "orp_secret\n" }, /^apiKey contains (?!.*orp_secret)/],
    ["an invalid base URL", { baseURL: "localhost" }, /baseURL/],
    ["a base URL with another scheme", { baseURL: "ftp://host/api/v1" }, /http:\/\/ or https:\/\//],
    ["a password in the base URL", { baseURL: "http://me:hunter22@host/" }, /^baseURL(?!.*hunter22)/],
    ["a timeout of 0", { timeout: 0 }, /timeout/],
    ["negative retries", { maxRetries: -1 }, /maxRetries/],
    ["an unknown log level", { logLevel: "loud" as "off" }, /debug, not "loud"/],
  ])("are rejected with an explanation: %s", (_, options, words) => {
    vi.stubEnv("OUTRIDER_API_KEY", "");
    const attempt = () => new Outrider({ apiKey: "key", ...options });
    expect(attempt).toThrow(OutriderError);
    expect(attempt).toThrow(words);
  });

  test("are validated for each call", async () => {
    await expect(connect().me.get({ timeout: 0 })).rejects.toThrow(/timeout must be/);
    await expect(connect().me.get({ maxRetries: -1 })).rejects.toThrow(/maxRetries must be/);
    expect(proxy.seen()).toEqual([]);
  });

  test("accept an infinite timeout, and undefined for the default", async () => {
    const client = connect({ timeout: Number.POSITIVE_INFINITY });
    // @ts-expect-error the types do not allow undefined, but JavaScript callers pass it
    expect((await client.me.get({ timeout: undefined })).type).toBe("user");
  });

  test("can be changed with withOptions", async () => {
    const client = connect();
    const other = client.withOptions({ apiKey: "orp_other", maxRetries: 0 });
    await expect(other.me.get()).rejects.toBeInstanceOf(AuthenticationError);
    expect((await client.me.get()).type).toBe("user");
  });

  test("send no key if it is null", async () => {
    await expect(connect({ apiKey: null }).me.get()).rejects.toMatchObject({ status: 401 });
    expect(proxy.seen()[0]?.headers.authorization).toBeUndefined();
  });

  test("accept a custom fetch, fetch options and headers", async () => {
    const fetch = vi.fn((url: string, init: RequestInit) => globalThis.fetch(url, init));
    const client = connect({
      fetch,
      fetchOptions: { cache: "no-store" },
      defaultHeaders: { "X-Team": "blue" },
    });
    await client.models.list({ headers: { "X-Call": "1" } });
    expect(fetch.mock.calls[0]?.[1]).toMatchObject({ cache: "no-store" });
    expect(proxy.seen()[0]?.headers).toMatchObject({ "x-team": "blue", "x-call": "1" });
  });

  test("set the client header, which the CLI can override", async () => {
    const source = async (client: Outrider) =>
      (await client.runs.get((await client.runs.create({ prompt: "SAY: x" })).run_id)).source;
    expect(await source(connect())).toBe("API");
    expect(proxy.seen()[0]?.headers["x-outrider-client"]).toBe(`sdk-typescript/${manifest.version}`);
    expect(await source(connect({ defaultHeaders: { "X-Outrider-Client": "cli/1" } }))).toBe("CLI");
    expect(version).toBe(manifest.version);
  });
});

describe("paths and queries", () => {
  test.each(["", ".", ".."])("reject the ID %j", (id) => {
    expect(() => connect().runs.get(id)).toThrow(OutriderError);
  });

  test("escape slashes in IDs", async () => {
    await expect(connect().secrets.delete("../../keys/x?y#z")).rejects.toBeInstanceOf(APIStatusError);
    expect(proxy.seen()[0]?.path).toBe("/api/v1/agent/secrets/..%2F..%2Fkeys%2Fx%3Fy%23z");
  });

  test("support repeated, nested and date filters", async () => {
    const query = {
      state: ["QUEUED" as const, "FAILED" as const],
      metadata: { a: "b&c" },
      created_after: "2026-01-01",
    };
    await connect().runs.list(query, { query: { limit: 3, updated_after: new Date(0) } });
    expect(decodeURIComponent(proxy.seen()[0]?.path.split("?")[1] ?? "")).toBe(
      "state=QUEUED&state=FAILED&metadata[a]=b&c&created_after=2026-01-01&limit=3&updated_after=1970-01-01T00:00:00.000Z",
    );
  });

  test("reject null", async () => {
    // @ts-expect-error the types do not allow null
    await expect(connect().get("/me", { query: { a: null } })).rejects.toThrow(/a must not be null/);
    await expect(connect().get("https://elsewhere.test/")).rejects.toThrow(/must start with/);
  });
});

describe("responses", () => {
  test("can be returned raw with an unread body", async () => {
    const response = await connect().runs.list({ limit: 1 }).asResponse();
    expect(response.bodyUsed).toBe(false);
    expect(await response.json()).toHaveProperty("page_info");
  });

  test("can be returned together with the value", async () => {
    const { data, response } = await connect().runs.create({ prompt: "SAY: x" }).withResponse();
    expect(response.headers.get("location")).toBe(`/api/v1/agent/runs/${data.run_id}`);
  });

  test("cannot be returned raw after the body is read", async () => {
    const call = connect().me.get();
    await call;
    await expect(call.asResponse()).rejects.toThrow(/before any await/);
  });

  test("have no value after asResponse()", async () => {
    const call = connect().me.get();
    await call.asResponse();
    await expect(call).rejects.toThrow(/withResponse/);
  });

  test("that are not JSON fail with a hint", async () => {
    proxy.set([{ kind: "answer", status: 200, headers: { "content-type": "text/html" }, body: "<p>hello" }]);
    await expect(connect().me.get()).rejects.toThrow(/text\/html instead of JSON\. Check that baseURL/);
  });

  test("are requested without await", async () => {
    connect().models.list();
    await vi.waitUntil(() => proxy.seen().length === 1, waitOptions);
  });
});

describe("errors", () => {
  test("have code, fields, trace ID and class", async () => {
    const error = await connect()
      .runs.create({ prompt: "" })
      .catch((caught) => caught);
    expect(error).toMatchObject({
      name: "BadRequestError",
      status: 400,
      code: "invalid_request",
      retryable: false,
    });
    expect(error.errors[0].pointer).toBe("/prompt");
    expect(error.traceId).toMatch(/\w+/);
    expect(error.message).toMatch(/^400 invalid_request: .*\/prompt/);
    expect(error).toBeInstanceOf(OutriderError);
  });

  test("from a proxy contain its text", async () => {
    proxy.set([{ kind: "answer", status: 502, body: "<h1>Bad gateway</h1>", times: 3 }]);
    const error = await connect({ maxRetries: 0 })
      .me.get()
      .catch((caught) => caught);
    expect(error).toMatchObject({
      name: "InternalServerError",
      body: "<h1>Bad gateway</h1>",
      code: undefined,
    });
  });

  test("name the address of an unreachable server", async () => {
    const away = connect({ baseURL: "http://127.0.0.1:9/api/v1", maxRetries: 0 });
    await expect(away.me.get()).rejects.toThrow(
      /^Cannot connect to http:\/\/127\.0\.0\.1:9: .*(ECONNREFUSED|bad port)/,
    );
  });
});

describe("waiting for a publication", () => {
  const answer = (state: string, times = 1) => ({
    kind: "answer" as const,
    status: 200,
    headers: { "content-type": "application/json" },
    body: { publication_id: "p", run_id: "r", state },
    times,
  });

  test.each(["AWAITING_APPROVAL", "DONE", "FAILED", "REJECTED", "SUPERSEDED"])(
    "ends with %s",
    async (state) => {
      proxy.set([answer("QUEUED"), answer(state)]);
      expect(await connect().publications.wait("r", "p")).toMatchObject({ state });
      expect(proxy.seen().map(({ path }) => path)).toEqual(
        Array(2).fill("/api/v1/agent/runs/r/publications/p"),
      );
    },
  );

  test("ends with an error after the timeout", async () => {
    proxy.set([answer("PUSHED", 99)]);
    const error = await connect()
      .publications.wait("r", "p", { timeout: 1 })
      .catch((reason) => reason);
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error.message).toBe("Publication p is still PUSHED after 1 ms.");
    expect([error.publication.state, error.run]).toEqual(["PUSHED", undefined]);
  });

  test("can be aborted", async () => {
    proxy.set([answer("PUSHING", 99)]);
    const waiting = connect().publications.wait("r", "p", { signal: AbortSignal.timeout(50) });
    await expect(waiting).rejects.toThrow(APIUserAbortError);
  });
});

describe("abort signals", () => {
  test("abort a call that waits for its response", async () => {
    proxy.set([{ kind: "delay", ms: 20_000 }]);
    const controller = new AbortController();
    const call = connect().me.get({ signal: controller.signal });
    await vi.waitUntil(() => proxy.seen().length === 1, waitOptions);
    controller.abort();
    await expect(call).rejects.toBeInstanceOf(APIUserAbortError);
    expect(proxy.seen()).toHaveLength(1);
  });

  test("abort a call that waits for a retry", async () => {
    proxy.set([{ kind: "answer", status: 503, headers: { "retry-after": "50" } }]);
    const controller = new AbortController();
    const retried = vi.fn(() => controller.abort());
    const logger = { debug() {}, info: retried, warn() {}, error() {} };
    const client = connect({ logLevel: "info", logger });
    await expect(client.me.get({ signal: controller.signal })).rejects.toBeInstanceOf(APIUserAbortError);
    expect(proxy.seen()).toHaveLength(1);
    expect(retried).toHaveBeenCalledOnce();
  });

  test("send nothing if already aborted", async () => {
    await expect(connect().me.get({ signal: AbortSignal.abort() })).rejects.toBeInstanceOf(APIUserAbortError);
    expect(proxy.seen()).toEqual([]);
  });
});

describe("retry delays", () => {
  test("grow from 0.5 to 8 seconds, with jitter", () => {
    const longest = [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000];
    longest.forEach((most, index) => {
      const delays = Array.from({ length: 50 }, () => retryDelay(index + 1));
      expect(Math.max(...delays)).toBeLessThanOrEqual(most);
      expect(Math.min(...delays)).toBeGreaterThanOrEqual(most * 0.75);
      expect(new Set(delays).size).toBeGreaterThan(1);
    });
  });
});

describe("lists", () => {
  test("neither skip nor repeat runs while others are created", async () => {
    const client = connect();
    const mark = crypto.randomUUID();
    for (let index = 0; index < 12; index++) await create(client, `old ${index}`, mark);
    const seen: string[] = [];
    for await (const run of client.runs.list({ limit: 5, metadata: { mark } })) {
      seen.push(run.prompt);
      if (seen.length % 2) await create(client, `new ${seen.length}`, mark);
    }
    expect(seen).toEqual(Array.from({ length: 12 }, (_, index) => `old ${11 - index}`));
  });

  test("can be read page by page", async () => {
    const client = connect();
    const mark = crypto.randomUUID();
    for (const prompt of ["1", "2", "3"]) await create(client, prompt, mark);
    const first = await client.runs.list({ limit: 2, metadata: { mark } });
    expect(first.items.map(({ prompt }) => prompt)).toEqual(["3", "2"]);
    expect(first.body.runs).toBe(first.items);
    expect(first.hasNextPage()).toBe(true);
    const second = await first.getNextPage();
    expect(second?.items.map(({ prompt }) => prompt)).toEqual(["1"]);
    expect(second?.hasNextPage()).toBe(false);
    expect(await second?.getNextPage()).toBeUndefined();
    const sizes: number[] = [];
    for await (const page of first.iterPages()) sizes.push(page.items.length);
    expect(sizes).toEqual([2, 1]);
  });
});

describe("logs", () => {
  test("contain every request and retry, but no secrets", async () => {
    const lines: string[] = [];
    const line = (message: string, details: object) => lines.push(`${message} ${JSON.stringify(details)}`);
    const logger = { debug: line, info: line, warn: line, error: line };
    const client = connect({ logger, logLevel: "debug", defaultHeaders: { Cookie: "session=hunter22" } });
    proxy.set([{ kind: "answer", status: 503, headers: { "retry-after": "0" } }]);
    await client.secrets.put("NAME", { value: "swordfish-1234" }, { headers: { "X-Token": "hunter33" } });
    await client.get("/me?token=hunter44").catch(() => {});
    const made = await client.keys.create({ name: "k", type: "personal" });
    const all = lines.join("\n");
    expect(all).toContain("PUT /agent/secrets/NAME returned 200");
    expect(all).toContain("retrying PUT /agent/secrets/NAME");
    for (const secret of [server.key, "swordfish", "hunter", made.key as string])
      expect(all).not.toContain(secret);
  });

  test("respect the log level", async () => {
    const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    await connect({ logger, logLevel: "warn" }).me.get();
    expect(logger.debug).not.toHaveBeenCalled();
  });

  test("of the client object do not contain the key", () => {
    const client = connect({ defaultHeaders: { Cookie: "session=hunter22" } });
    const shown = inspect(client, { depth: 9, showHidden: true }) + JSON.stringify(client);
    expect(shown).not.toContain(server.key);
    expect(shown).not.toContain("hunter22");
  });
});
