import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type FaultProxy, startFaultProxy } from "../../../e2e/clients/fault-proxy.ts";
import { type TestServer, testServer } from "../../server/test/server.ts";
import manifest from "../package.json" with { type: "json" };
import { type ClientOptions, Outrider } from "../src/client.ts";
import { APIStatusError, APIUserAbortError, AuthenticationError, OutriderError } from "../src/errors.ts";
import { pauseBefore } from "../src/retry.ts";
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

describe("the client's options", () => {
  test("come from the environment where they are not given", async () => {
    vi.stubEnv("OUTRIDER_API_KEY", server.key);
    vi.stubEnv("OUTRIDER_BASE_URL", `${proxy.origin}/api/v1/`);
    expect((await new Outrider().me.get()).key?.name).toBe("first key");
  });

  test.each<[string, ClientOptions, RegExp]>([
    ["no key", { apiKey: undefined as never }, /OUTRIDER_API_KEY/],
    ["a key with a line break", { apiKey: "orp_secret\n" }, /^apiKey holds (?!.*orp_secret)/],
    ["an address that is none", { baseURL: "localhost" }, /baseURL/],
    ["an address of another kind", { baseURL: "ftp://host/api/v1" }, /http:\/\/ or https:\/\//],
    ["a password in the address", { baseURL: "http://me:hunter22@host/" }, /^baseURL(?!.*hunter22)/],
    ["a timeout of nothing", { timeout: 0 }, /timeout/],
    ["retries that are no number", { maxRetries: -1 }, /maxRetries/],
    ["an unknown log level", { logLevel: "loud" as "off" }, /debug, not "loud"/],
  ])("are refused with the remedy: %s", (_, options, words) => {
    vi.stubEnv("OUTRIDER_API_KEY", "");
    const attempt = () => new Outrider({ apiKey: "key", ...options });
    expect(attempt).toThrow(OutriderError);
    expect(attempt).toThrow(words);
  });

  test("are looked at again where a call has its own", async () => {
    await expect(connect().me.get({ timeout: 0 })).rejects.toThrow(/timeout must be/);
    await expect(connect().me.get({ maxRetries: -1 })).rejects.toThrow(/maxRetries must be/);
    expect(proxy.seen()).toEqual([]);
  });

  test("take a timeout without end, and undefined for the client's own", async () => {
    const client = connect({ timeout: Number.POSITIVE_INFINITY });
    expect((await client.me.get({ timeout: undefined as never })).type).toBe("user");
  });

  test("can be changed for a part of the calls", async () => {
    const client = connect();
    const other = client.withOptions({ apiKey: "orp_other", maxRetries: 0 });
    await expect(other.me.get()).rejects.toBeInstanceOf(AuthenticationError);
    expect((await client.me.get()).type).toBe("user");
  });

  test("null for a key sends none", async () => {
    await expect(connect({ apiKey: null }).me.get()).rejects.toMatchObject({ status: 401 });
    expect(proxy.seen()[0]?.headers.authorization).toBeUndefined();
  });

  test("bring one's own fetch, its options and headers", async () => {
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

  test("say which client it is, and the CLI may say that it is the CLI", async () => {
    const source = async (client: Outrider) =>
      (await client.runs.get((await client.runs.create({ prompt: "SAY: x" })).run_id)).source;
    expect(await source(connect())).toBe("API");
    expect(proxy.seen()[0]?.headers["x-outrider-client"]).toBe(`sdk-typescript/${manifest.version}`);
    expect(await source(connect({ defaultHeaders: { "X-Outrider-Client": "cli/1" } }))).toBe("CLI");
    expect(version).toBe(manifest.version);
  });
});

describe("an address", () => {
  test.each(["", ".", ".."])("is not led elsewhere by the id %j", (id) => {
    expect(() => connect().runs.get(id)).toThrow(OutriderError);
  });

  test("keeps an id with slashes in its segment", async () => {
    await expect(connect().secrets.delete("../../keys/x?y#z")).rejects.toBeInstanceOf(APIStatusError);
    expect(proxy.seen()[0]?.path).toBe("/api/v1/agent/secrets/..%2F..%2Fkeys%2Fx%3Fy%23z");
  });

  test("carries repeated, nested and timed filters", async () => {
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

  test("refuses null, which could mean anything", async () => {
    await expect(connect().get("/me", { query: { a: null as never } })).rejects.toThrow(/a is null/);
    await expect(connect().get("https://elsewhere.test/")).rejects.toThrow(/begins with/);
  });
});

describe("a response", () => {
  test("is had raw, with its body left to stream", async () => {
    const response = await connect().runs.list({ limit: 1 }).asResponse();
    expect(response.bodyUsed).toBe(false);
    expect(await response.json()).toHaveProperty("page_info");
  });

  test("is had beside the value", async () => {
    const { data, response } = await connect().runs.create({ prompt: "SAY: x" }).withResponse();
    expect(response.headers.get("location")).toBe(`/api/v1/agent/runs/${data.run_id}`);
  });

  test("cannot be had raw once its body is being read, and says so", async () => {
    const call = connect().me.get();
    await call;
    await expect(call.asResponse()).rejects.toThrow(/before anything is awaited/);
  });

  test("that was taken raw has no value any more, and says so", async () => {
    const call = connect().me.get();
    await call.asResponse();
    await expect(call).rejects.toThrow(/withResponse/);
  });

  test("that is no JSON says what to look at", async () => {
    proxy.set([{ kind: "answer", status: 200, headers: { "content-type": "text/html" }, body: "<p>hello" }]);
    await expect(connect().me.get()).rejects.toThrow(/text\/html where JSON was expected: is baseURL/);
  });

  test("is sent for without being awaited", async () => {
    connect().models.list();
    await vi.waitUntil(() => proxy.seen().length === 1);
  });
});

describe("an error", () => {
  test("tells code, members, trace and class", async () => {
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

  test("of something before the service keeps its text", async () => {
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

  test("of a service that is not there names its address", async () => {
    const away = connect({ baseURL: "http://127.0.0.1:9/api/v1", maxRetries: 0 });
    await expect(away.me.get()).rejects.toThrow(
      /^No connection to http:\/\/127\.0\.0\.1:9: .*(ECONNREFUSED|bad port)/,
    );
  });
});

describe("an abort", () => {
  test("ends a call that waits for its answer", async () => {
    proxy.set([{ kind: "delay", ms: 20_000 }]);
    const controller = new AbortController();
    const call = connect().me.get({ signal: controller.signal });
    await vi.waitUntil(() => proxy.seen().length === 1);
    controller.abort();
    await expect(call).rejects.toBeInstanceOf(APIUserAbortError);
    expect(proxy.seen()).toHaveLength(1);
  });

  test("ends a call that waits for its next try", async () => {
    proxy.set([{ kind: "answer", status: 503, headers: { "retry-after": "50" } }]);
    const controller = new AbortController();
    const retried = vi.fn(() => controller.abort());
    const logger = { debug() {}, info: retried, warn() {}, error() {} };
    const client = connect({ logLevel: "info", logger });
    await expect(client.me.get({ signal: controller.signal })).rejects.toBeInstanceOf(APIUserAbortError);
    expect(proxy.seen()).toHaveLength(1);
    expect(retried).toHaveBeenCalledOnce();
  });

  test("before the call sends nothing", async () => {
    await expect(connect().me.get({ signal: AbortSignal.abort() })).rejects.toBeInstanceOf(APIUserAbortError);
    expect(proxy.seen()).toEqual([]);
  });
});

describe("the pause before a retry", () => {
  test("grows from half a second to eight, and never is the same for all", () => {
    const longest = [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000];
    longest.forEach((most, index) => {
      const pauses = Array.from({ length: 50 }, () => pauseBefore(index + 1));
      expect(Math.max(...pauses)).toBeLessThanOrEqual(most);
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(most * 0.75);
      expect(new Set(pauses).size).toBeGreaterThan(1);
    });
  });
});

describe("a list", () => {
  test("skips and repeats nothing while others are created", async () => {
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

  test("goes page by page", async () => {
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

describe("the log", () => {
  test("tells of every request and retry, and of no secret", async () => {
    const lines: string[] = [];
    const line = (message: string, details: object) => lines.push(`${message} ${JSON.stringify(details)}`);
    const logger = { debug: line, info: line, warn: line, error: line };
    const client = connect({ logger, logLevel: "debug", defaultHeaders: { Cookie: "session=hunter22" } });
    proxy.set([{ kind: "answer", status: 503, headers: { "retry-after": "0" } }]);
    await client.secrets.put("NAME", { value: "swordfish-1234" }, { headers: { "X-Token": "hunter33" } });
    await client.get("/me?token=hunter44").catch(() => {});
    const made = await client.keys.create({ name: "k", type: "personal" });
    const all = lines.join("\n");
    expect(all).toContain("PUT /agent/secrets/NAME answered 200");
    expect(all).toContain("PUT /agent/secrets/NAME is tried again");
    for (const secret of [server.key, "swordfish", "hunter", made.key as string])
      expect(all).not.toContain(secret);
  });

  test("is silent below its level", async () => {
    const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    await connect({ logger, logLevel: "warn" }).me.get();
    expect(logger.debug).not.toHaveBeenCalled();
  });

  test("of the client itself shows no key", () => {
    const client = connect({ defaultHeaders: { Cookie: "session=hunter22" } });
    const shown = inspect(client, { depth: 9, showHidden: true }) + JSON.stringify(client);
    expect(shown).not.toContain(server.key);
    expect(shown).not.toContain("hunter22");
  });
});
