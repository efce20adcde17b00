import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

const app = "https://app.example.com";
const local = "http://localhost:5173";
const stranger = "https://stranger.example.com";

let server: TestServer;
let closed: TestServer;
let run: string;

beforeAll(async () => {
  server = await testServer({ OUTRIDER_CORS_ORIGINS: `${app}, ${local}` });
  closed = await testServer();
  run = (await server.call("POST", "/agent/run", { body: { prompt: "x" } })).body.run_id;
});
afterAll(async () => {
  await server.stop();
  await closed.stop();
});

/** Returns the headers that tell browsers what to share. */
function sharing(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-")));
}

const get = (path: string, headers: Record<string, string>, key?: null) =>
  server.call("GET", path, { headers, ...(key === null ? { key } : {}) });

function preflight(path: string, origin: string, method = "POST") {
  const headers = {
    origin,
    "access-control-request-method": method,
    "access-control-request-headers": "authorization,content-type,idempotency-key",
  };
  return server.call("OPTIONS", path, { key: null, headers });
}

describe("a page of a listed origin", () => {
  test.each([app, local])("may read responses and their headers (%s)", async (origin) => {
    const { status, headers } = await get(`/agent/runs/${run}`, { origin });
    expect(status).toBe(200);
    expect(headers.get("access-control-allow-origin")).toBe(origin);
    const exposed = headers.get("access-control-expose-headers")?.split(", ");
    expect(exposed).toEqual(
      expect.arrayContaining([
        ...["RateLimit", "RateLimit-Policy", "Retry-After", "X-Should-Retry", "Idempotent-Replayed"],
        ...["Location", "ETag", "Content-Range", "Content-Disposition", "X-Trace-Id"],
      ]),
    );
    expect(headers.get("vary")?.split(", ")).toContain("origin");
  });

  test("may read errors, also without a key", async () => {
    const missing = await get("/agent/runs/00000000-0000-7000-8000-000000000000", { origin: app });
    const keyless = await get("/agent/runs", { origin: app }, null);
    const noRoute = await get("/nowhere", { origin: app });
    expect([missing.status, keyless.status, noRoute.status]).toEqual([404, 401, 404]);
    for (const { headers } of [missing, keyless, noRoute])
      expect(headers.get("access-control-allow-origin")).toBe(app);
  });

  test("may read streams", async () => {
    const response = await fetch(`${server.base}/agent/runs/${run}/events`, {
      headers: { origin: app, authorization: `Bearer ${server.key}`, accept: "text/event-stream" },
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("access-control-allow-origin")).toBe(app);
    await response.body?.cancel();
  });

  test.each(["GET", "POST", "PUT", "PATCH", "DELETE"])("may send %s after a preflight", async (method) => {
    const { status, headers, text } = await preflight("/agent/run", app, method);
    expect([status, text]).toEqual([204, ""]);
    expect(headers.get("access-control-allow-origin")).toBe(app);
    expect(headers.get("access-control-allow-methods")?.split(", ")).toContain(method);
    const allowed = headers.get("access-control-allow-headers")?.toLowerCase().split(", ");
    expect(allowed).toEqual(
      expect.arrayContaining([
        ...["authorization", "content-type", "idempotency-key", "x-outrider-client"],
        ...["last-event-id", "if-none-match", "range"],
      ]),
    );
    expect(Number(headers.get("access-control-max-age"))).toBeGreaterThan(0);
    expect(headers.get("vary")).toBe("origin");
  });

  test("may never use cookies", async () => {
    const { headers } = await get("/agent/runs", { origin: app, cookie: "outrider_session=orc_x" });
    expect(sharing(headers)).toEqual({});
    expect(sharing((await preflight("/agent/run", app)).headers)).not.toHaveProperty(
      "access-control-allow-credentials",
    );
  });

  test.each(["/auth/sign-in", "/auth/link", "/worker/claim"])("may not call %s", async (path) => {
    const { status, headers } = await preflight(path, app);
    expect([status, sharing(headers)]).toEqual([405, {}]);
  });

  test("may not read pages outside of the API", async () => {
    const { headers } = await get(`${server.origin}/healthz`, { origin: app });
    expect(sharing(headers)).toEqual({});
  });
});

describe("a page of another origin", () => {
  test.each([
    stranger,
    "null",
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://app.example.com.evil.example",
    "https://evil-app.example.com",
  ])("may neither read nor send anything (%s)", async (origin) => {
    const { status, headers } = await get("/agent/runs", { origin });
    expect([status, sharing(headers)]).toEqual([200, {}]);
    expect(headers.get("vary")?.split(", ")).toContain("origin");
    const refused = await preflight("/agent/run", origin);
    expect([refused.status, sharing(refused.headers)]).toEqual([405, {}]);
  });
});

test("by default, no origin is listed", async () => {
  const { headers } = await closed.call("GET", "/agent/runs", { headers: { origin: app } });
  expect(sharing(headers)).toEqual({});
  expect(headers.get("vary")).toBe("accept-encoding");
  const options = { key: null, headers: { origin: app, "access-control-request-method": "POST" } };
  const refused = await closed.call("OPTIONS", "/agent/run", options);
  expect([refused.status, sharing(refused.headers)]).toEqual([405, {}]);
});
