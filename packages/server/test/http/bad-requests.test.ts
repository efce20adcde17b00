import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testServer } from "../server.ts";
import { accessCases } from "./bad-requests/access.ts";
import { addressCases } from "./bad-requests/addresses.ts";
import { bodyCases } from "./bad-requests/bodies.ts";
import { bounds } from "./bad-requests/bounds.ts";
import { type BadRequest, statusOf } from "./bad-requests/case.ts";
import { configCases } from "./bad-requests/config.ts";
import { createCases } from "./bad-requests/create.ts";
import { type Answer, exchange, exchangeBytes } from "./bad-requests/exchange.ts";
import { createFixture, type Fixture } from "./bad-requests/fixture.ts";
import { queryCases } from "./bad-requests/queries.ts";
import { resourceCases } from "./bad-requests/resources.ts";
import { steeringCases } from "./bad-requests/steering.ts";
import { wireCases } from "./bad-requests/wire.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.server.stop());

/** Everything that a request could write, down to each value; of keys all but the time of their last use. */
async function stored(): Promise<object> {
  const [row] = await fixture.server.db`
    select
      (select md5(string_agg(r::text, '' order by run_id)) from runs r) as runs,
      (select md5(string_agg(h::text, '' order by run_id)) from run_state h) as run_state,
      (select md5(string_agg(e::text, '' order by run_id, seq)) from events e) as events,
      (select md5(string_agg(f::text, '' order by position)) from followups f) as followups,
      (select count(*) from attachments) as attachments,
      (select md5(string_agg(concat(key_id, scopes, expires_at, revoked_at), '' order by key_id)) from keys) as keys,
      (select md5(string_agg(e::text, '' order by environment_id)) from environments e) as environments,
      (select md5(string_agg(s::text, '' order by name)) from secrets s) as secrets,
      (select md5(string_agg(i::text, '' order by uid)) from identities i) as identities,
      (select md5(string_agg(s::text, '' order by run_id)) from shares s) as shares,
      (select count(*) from users) as users`;
  return row as object;
}

async function answerTo({ send, bytes }: BadRequest): Promise<Answer> {
  const { base, key } = fixture.server;
  if (send) return exchange(base, key, send(fixture));
  const answers = await exchangeBytes(base, bytes?.(fixture) ?? "");
  expect(answers).toHaveLength(1);
  return answers[0] as Answer;
}

/** The path as it was sent; empty where no request could be read. */
function instanceOf({ send, instance = "" }: BadRequest): string {
  if (!send) return instance;
  const { path } = send(fixture);
  const { origin } = fixture.server;
  return (path.startsWith(origin) ? path.slice(origin.length) : `/api/v1${path}`).split("?")[0] as string;
}

function expectProblem(row: BadRequest, { status, headers, text }: Answer) {
  const { code } = row;
  expect([status, JSON.parse(text).error_code]).toEqual([row.status, code]);
  expect(headers["content-type"]).toMatch(/^application\/problem\+json(; charset=utf-8)?$/);
  const { errors, ...problem } = JSON.parse(text);
  expect(problem).toEqual({
    type: `${fixture.server.origin}/docs/errors/${code}`,
    title: expect.stringMatching(/./),
    status,
    detail: expect.stringMatching(/./),
    instance: instanceOf(row),
    error_code: code,
    message: problem.detail,
    retryable: false,
    trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  expect(headers["x-trace-id"]).toBe(problem.trace_id);
  expect(headers["x-should-retry"]).toBe("false");
  expect(headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
  expect(headers.allow?.split(", ").sort().join(", ")).toBe(row.allow);
  if (row.pointer !== undefined) {
    expect(errors).toContainEqual({ pointer: row.pointer, message: expect.stringMatching(/./) });
  }
  if (row.says !== undefined) expect([problem.detail, ...messages(errors)].join("\n")).toMatch(row.says);
}

function messages(errors: { message: string }[] = []): string[] {
  return errors.map(({ message }) => message);
}

describe.each([
  ["creating a run", createCases],
  ["configuring a run", configCases],
  ["a body", bodyCases],
  ["a query", queryCases],
  ["a URL", addressCases],
  ["credentials and permissions", accessCases],
  ["controlling a run", steeringCases],
  ["keys, secrets, environments and cloud agents", resourceCases],
  ["malformed HTTP", wireCases],
])("invalid requests: %s", (_, rows) => {
  test.each(rows)("$status $code: $name", async (row) => {
    const before = await stored();
    expectProblem(row, await answerTo(row));
    expect(await stored()).toEqual(before);
  });
});

test.each(bounds)("%s is accepted", async (_, send) => {
  const { base, key } = fixture.server;
  const { status, text } = await exchange(base, key, send(fixture));
  expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ state: "QUEUED" })]);
});

test.each(Object.keys(statusOf))("the problem type of %s is a page", async (code) => {
  const { status, headers } = await fixture.server.call(
    "GET",
    `${fixture.server.origin}/docs/errors/${code}`,
  );
  expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
});

test("clients with unfinished requests do not delay a shutdown", async () => {
  const server = await testServer();
  const { hostname: host, port } = new URL(server.origin);
  const whole = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const post = "POST /api/v1/agent/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345";
  // Once something is answered, everything has been read.
  const begun = ["garbage\r\n\r\n", `${whole}GET /api/v1/me HTTP/1.1\r\n`, whole + post].map((text) => {
    const socket = connect({ port: Number(port), host, allowHalfOpen: true });
    socket.on("error", () => {}).write(text);
    return new Promise<typeof socket>((resolve) => socket.on("data", () => resolve(socket)));
  });
  const sockets = await Promise.all(begun);
  await server.stop();
  for (const socket of sockets) socket.destroy();
});
