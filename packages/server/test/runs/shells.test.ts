import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let workerKey: string;
let environment: string;

beforeAll(async () => {
  // Leases outlast the tests.
  server = await testServer({ OUTRIDER_LEASE_SECONDS: "600" });
  workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
  await server.call("PUT", "/agent/secrets/TOKEN", { body: { value: "a secret value" } });
  const body = { name: "site", setup_commands: ["make"], build_secrets: ["TOKEN"] };
  environment = (await server.call("POST", "/agent/environments", { body })).body.environment_id;
});
afterAll(() => server.stop());
beforeEach(() => server.db`delete from shells`);

const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 100 };
const asWorker = (path: string, body: object) =>
  server.call("POST", `/worker${path}`, { body, key: workerKey });
const claim = async (more: object = { takes_shells: true }) =>
  (await asWorker("/claim", { request_id: randomUUID(), worker, free: 1, wait_ms: 0, ...more })).body;
const shellsPath = () => `/agent/environments/${environment}/shells`;
const base64 = (text: string) => Buffer.from(text).toString("base64");

async function create(body: object = {}, key?: string): Promise<string> {
  const reply = await server.call("POST", shellsPath(), { body, ...(key ? { key } : {}) });
  expect(reply).toMatchObject({ status: 201, body: { state: "QUEUED", environment_id: environment } });
  return reply.body.shell_id;
}

/** Creates a shell that the worker holds and has opened. */
async function open() {
  const id = await create({ terminal: { rows: 24, columns: 80 } });
  const [shell] = (await claim()).shells;
  const { token } = shell;
  let batch = 0;
  const held = {
    id,
    token,
    assignment: shell,
    report: (events: object[], number = ++batch) =>
      asWorker(`/shells/${id}/report`, { token, batch: number, events }),
    output: (text: string) =>
      held.report([{ type: "output", data: { stream: "stdout", data: base64(text) } }]),
    fetch: (after: number, more: object = {}) =>
      asWorker(`/shells/${id}/input`, { token, after, received: 0, wait_ms: 0, ...more }),
    input: (body: object, key?: string) =>
      server.call("PUT", `${shellsPath()}/${id}/input`, { body, ...(key ? { key } : {}) }),
    events: async () => (await server.call("GET", `${shellsPath()}/${id}/events`)).body.events,
    get: async () => (await server.call("GET", `${shellsPath()}/${id}`)).body,
  };
  expect((await held.report([{ type: "opened", data: {} }])).status).toBe(204);
  return held;
}

describe("the claim of a shell", () => {
  test("contains the environment with its build secrets, but no build if the latest one failed", async () => {
    const { assignment, id } = await open();
    expect(assignment).toMatchObject({
      shell_id: id,
      terminal: { rows: 24, columns: 80 },
      environment: { setup_commands: ["make"], build_secrets: { TOKEN: "a secret value" } },
    });
    expect(assignment.build).toBeUndefined();
  });

  test("is offered only to workers that know shells", async () => {
    await create();
    expect(await claim({})).toMatchObject({ offers_shells: true, shells: [] });
    expect((await claim()).shells).toHaveLength(1);
    expect((await claim()).shells).toEqual([]);
  });

  test("can be repeated if its response was lost, and goes to another worker if the first one is lost", async () => {
    await create();
    const request = { request_id: randomUUID(), worker, free: 1, wait_ms: 0, takes_shells: true };
    const first = (await asWorker("/claim", request)).body.shells;
    expect((await asWorker("/claim", request)).body.shells).toEqual(first);
    await server.db`update shells set lease_expires_at = outrider_now()`;
    const [second] = (await claim()).shells;
    expect(second.token).not.toBe(first[0].token);
    const report = { token: first[0].token, batch: 1, events: [] };
    expect((await asWorker(`/shells/${second.shell_id}/report`, report)).status).toBe(409);
  });

  test("takes one of the worker's free slots", async () => {
    await create();
    await server.call("POST", "/agent/run", { body: { prompt: "SAY: hi" } });
    const { shells, executions } = await claim();
    expect([shells.length, executions.length]).toEqual([1, 0]);
    await claim({ free: 1 });
  });
});

describe("input", () => {
  test("reaches the worker in order and once, even if requests are repeated", async () => {
    const shell = await open();
    for (const seq of [1, 1, 2, 1, 2])
      expect((await shell.input({ seq, data: base64(`key ${seq}`) })).status).toBe(204);
    expect((await shell.input({ seq: 4, data: "" })).body).toMatchObject({ error_code: "conflict" });
    expect((await shell.input({ seq: 3, terminal: { rows: 10, columns: 20 } })).status).toBe(204);
    const pieces = [
      { seq: 1, data: base64("key 1") },
      { seq: 2, data: base64("key 2") },
      { seq: 3, terminal: { rows: 10, columns: 20 } },
    ];
    expect((await shell.fetch(0)).body).toEqual({ pieces, received: 0 });
    expect((await shell.fetch(0)).body.pieces).toEqual(pieces);
    expect((await shell.fetch(2)).body.pieces).toEqual(pieces.slice(2));
    expect((await shell.fetch(3)).body.pieces).toEqual([]);
    expect(await server.db`select seq from shell_frames where is_input`).toEqual([]);
    // A late repetition of a request whose input is already consumed.
    expect((await shell.input({ seq: 3, data: base64("again") })).status).toBe(204);
    expect((await shell.fetch(3)).body.pieces).toEqual([]);
  });

  test("is stored encrypted", async () => {
    const shell = await open();
    await shell.input({ seq: 1, data: base64("a password") });
    const [{ sealed }] = (await server.db`select sealed from shell_frames where is_input`) as [
      { sealed: Buffer },
    ];
    expect(sealed.toString("latin1")).not.toContain(base64("a password"));
  });

  test("wakes the worker that waits for it", async () => {
    const shell = await open();
    const waiting = shell.fetch(0, { wait_ms: 60_000 });
    await shell.input({ seq: 1, data: base64("x") });
    expect((await waiting).body.pieces).toHaveLength(1);
  });

  test("is limited, and confirmations pass a worker that accepts no input", async () => {
    const shell = await open();
    const statuses: number[] = [];
    for (let seq = 1; seq <= 33; seq++) statuses.push((await shell.input({ seq, data: "" })).status);
    expect(statuses).toEqual([...Array(32).fill(204), 429]);
    const { token, id } = shell;
    const waiting = asWorker(`/shells/${id}/input`, { token, received: 0, wait_ms: 60_000 });
    await shell.input({ received: 1 });
    expect((await waiting).body).toEqual({ pieces: [], received: 1 });
    expect((await shell.input({ data: base64("no number") })).status).toBe(400);
    expect((await shell.input({ seq: 33, data: "A".repeat(43_696) })).status).toBe(400);
    expect((await shell.input({ seq: 33, data: "not base64" })).status).toBe(400);
  });
});

describe("output", () => {
  test("is numbered, stored once, and deleted when the client confirms it", async () => {
    const shell = await open();
    await shell.output("one");
    expect((await shell.report([], 2)).status).toBe(204);
    await shell.output("two");
    expect((await shell.report([], 9)).status).toBe(409);
    const events = await shell.events();
    expect(events).toEqual([
      { seq: 1, type: "opened", data: {} },
      { seq: 2, type: "output", data: { stream: "stdout", data: base64("one") } },
      { seq: 3, type: "output", data: { stream: "stdout", data: base64("two") } },
    ]);
    await shell.input({ received: 2 });
    expect(await shell.events()).toEqual(events.slice(2));
    // A client cannot confirm what it has not received.
    await shell.input({ received: 1_000 });
    await shell.output("three");
    expect((await shell.events()).map(({ seq }: { seq: number }) => seq)).toEqual([4]);
  });

  test("is streamed until the shell has ended", async () => {
    const shell = await open();
    const stream = server.call("GET", `${shellsPath()}/${shell.id}/events`, {
      headers: { accept: "text/event-stream", "last-event-id": "1" },
    });
    await shell.output("shown");
    const { id, token } = shell;
    const finish = { token, batch: 3, events: [], exit_code: 7 };
    for (const _ of [1, 2]) expect((await asWorker(`/shells/${id}/finish`, finish)).status).toBe(204);
    const { text } = await stream;
    expect(text.match(/^(id|event): .*$/gm)).toEqual(["id: 2", "event: output", "id: 3", "event: closed"]);
    expect(await shell.get()).toMatchObject({ state: "CLOSED", exit_code: 7, opened_at: expect.anything() });
    const after = { accept: "text/event-stream", "last-event-id": "3" };
    expect((await server.call("GET", `${shellsPath()}/${id}/events`, { headers: after })).status).toBe(204);
    expect((await shell.input({ seq: 1, data: "" })).body).toMatchObject({ error_code: "conflict" });
  });
});

describe("a shell ends", () => {
  test("at the user's request, and the worker learns of it", async () => {
    const shell = await open();
    await shell.input({ seq: 1, data: base64("x") });
    const waiting = shell.fetch(1, { wait_ms: 60_000 });
    for (const _ of [1, 2])
      expect((await server.call("DELETE", `${shellsPath()}/${shell.id}`)).status).toBe(204);
    expect((await waiting).status).toBe(409);
    expect((await shell.output("late")).status).toBe(409);
    // The second call deleted the events, and streams of them end.
    const headers = { accept: "text/event-stream" };
    expect((await server.call("GET", `${shellsPath()}/${shell.id}/events`, { headers })).text).toBe("");
    expect(await server.db`select seq from shell_frames where is_input`).toEqual([]);
  });

  const hour = "interval '61 minutes'";
  test.each([
    ["the worker is lost", "lease_expires_at = outrider_now()", /worker .* was lost/],
    [
      "the client is gone",
      "client_seen_at = outrider_now() - interval '61 seconds'",
      /client was disconnected/,
    ],
    ["nothing happens", "active_at = outrider_now() - interval '16 minutes'", /15 minutes/],
    ["it was open for an hour", `opened_at = outrider_now() - ${hour}`, /for an hour/],
    [
      "it does not open",
      `state = 'OPENING', opened_at = null, created_at = outrider_now() - ${hour}`,
      /not open/,
    ],
  ])("if %s", async (_, change, message) => {
    const shell = await open();
    await server.db.unsafe(`update shells set ${change}`);
    await vi.waitUntil(async () => (await shell.get()).state === "CLOSED", waitOptions);
    expect((await shell.get()).message).toMatch(message);
    expect(await shell.events()).toContainEqual({
      ...{ seq: 2, type: "closed" },
      data: { message: expect.stringMatching(message) },
    });
    expect((await shell.fetch(0)).status).toBe(409);
  });

  test("if its key is revoked", async () => {
    const { key, key_id } = (
      await server.call("POST", "/keys", { body: { name: "k", type: "personal", scopes: ["admin"] } })
    ).body;
    const id = await create({}, key);
    await server.call("DELETE", `/keys/${key_id}`);
    const path = `${shellsPath()}/${id}`;
    await vi.waitUntil(async () => (await server.call("GET", path)).body.state === "CLOSED", waitOptions);
  });

  test("and its data is deleted later", async () => {
    const shell = await open();
    await server.call("DELETE", `${shellsPath()}/${shell.id}`);
    const { deleteOldShells } = await import("../../src/store/shells.ts");
    await deleteOldShells(server.db);
    expect(await shell.events()).toHaveLength(2);
    await server.db`update shells set closed_at = outrider_now() - interval '2 minutes'`;
    await deleteOldShells(server.db);
    expect(await shell.events()).toEqual([]);
    await server.db`update shells set closed_at = outrider_now() - interval '61 minutes'`;
    await deleteOldShells(server.db);
    expect((await server.call("GET", `${shellsPath()}/${shell.id}`)).status).toBe(404);
  });
});

describe("access", () => {
  test("is limited to the user who opened the shell", async () => {
    const shell = await open();
    const other = await server.user("other-admin@example.com", "admin");
    const path = `${shellsPath()}/${shell.id}`;
    for (const [method, tail] of [
      ["GET", ""],
      ["GET", "/events"],
      ["DELETE", ""],
    ] as const)
      expect((await server.call(method, path + tail, { key: other })).status).toBe(404);
    expect((await shell.input({ seq: 1, data: base64("x") }, other)).status).toBe(404);
    expect((await shell.get()).state).toBe("OPEN");
  });

  test("is limited to three shells per user", async () => {
    const [first] = [await create(), await create(), await create()];
    const reply = await server.call("POST", shellsPath(), { body: {} });
    expect(reply).toMatchObject({ status: 429, body: { detail: expect.stringContaining("3 open shells") } });
    await create({}, await server.user("third-admin@example.com", "admin"));
    await server.call("DELETE", `${shellsPath()}/${first}`);
    await create();
  });
});
