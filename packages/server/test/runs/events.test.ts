import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

const create = async () =>
  (await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello" } })).body.run_id;
const cancel = (run: string) => server.call("POST", `/agent/runs/${run}/cancel`);
const followUp = (run: string) =>
  server.call("POST", `/agent/runs/${run}/followups`, { body: { message: "more" } });

/** A run with `count` events: cancelled and reopened again and again. */
async function runWith(count: number): Promise<string> {
  const run = await create();
  for (let seq = 2; seq <= count; seq++) await (seq % 2 === 0 ? cancel(run) : followUp(run));
  return run;
}

interface Streamed {
  id: number;
  event: string;
  data: { seq: number; type: string };
}

function open(run: string, { headers = {}, query = "", key = server.key } = {}) {
  return fetch(`${server.base}/agent/runs/${run}/events${query}`, {
    headers: { authorization: `Bearer ${key}`, accept: "text/event-stream", ...headers },
  });
}

async function* read(response: Response): AsyncGenerator<Streamed> {
  let rest = "";
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    rest += new TextDecoder().decode(chunk);
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const lines = rest.slice(0, end).split("\n");
      rest = rest.slice(end + 2);
      if (lines[0]?.startsWith(":")) continue;
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
      yield { id: Number(field("id")), event: field("event"), data: JSON.parse(field("data")) };
    }
  }
}

async function* readData(response: Response): AsyncGenerator<object> {
  let rest = "";
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    rest += new TextDecoder().decode(chunk);
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const block = rest.slice(0, end);
      rest = rest.slice(end + 2);
      if (block.startsWith("data: ")) yield JSON.parse(block.slice("data: ".length));
    }
  }
}

async function readAll(response: Response): Promise<Streamed[]> {
  const all: Streamed[] = [];
  for await (const event of read(response)) all.push(event);
  return all;
}

describe("the list of events", () => {
  test("is numbered from 1 without gaps, and pages by seq", async () => {
    const run = await runWith(7);
    const whole = (await server.call("GET", `/agent/runs/${run}/events`)).body;
    expect(whole.events.map(({ seq }: { seq: number }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(whole.page_info).toEqual({ has_next_page: false });
    const first = (await server.call("GET", `/agent/runs/${run}/events?limit=4`)).body;
    expect(first.page_info).toEqual({ has_next_page: true, next_cursor: "4" });
    const second = (await server.call("GET", `/agent/runs/${run}/events?limit=4&after=4`)).body;
    expect([...first.events, ...second.events]).toEqual(whole.events);
  });

  test("starts with the request", async () => {
    const run = await create();
    const { events } = (await server.call("GET", `/agent/runs/${run}/events`)).body;
    expect(events).toEqual([
      {
        run_id: run,
        seq: 1,
        type: "run.created",
        created_at: expect.any(String),
        turn: 1,
        attempt: 0,
        data: { title: "SAY: hello", prompt: "SAY: hello", source: "API", creator: expect.any(Object) },
      },
    ]);
  });
});

describe("the stream of run changes", () => {
  test("reports each change that matches the filters once", async () => {
    const response = await fetch(`${server.base}/agent/runs?name=watched`, {
      headers: { authorization: `Bearer ${server.key}`, accept: "text/event-stream" },
    });
    const hints = readData(response);
    const create = (name: string) =>
      server.call("POST", "/agent/run", { body: { prompt: "x", config: { name } } });
    await create("other");
    const run_id = (await create("watched")).body.run_id;
    expect((await hints.next()).value).toEqual({ run_id, state: "QUEUED", updated_at: expect.any(String) });
    await cancel(run_id);
    expect((await hints.next()).value).toMatchObject({ run_id, state: "CANCELLED" });
    const next = (await create("watched")).body.run_id;
    expect((await hints.next()).value).toMatchObject({ run_id: next });
    await hints.return(undefined);
  });

  test("reports all changes if more runs change at once than it reads at a time", async () => {
    const { body } = await server.call("POST", "/agent/run", {
      body: { prompt: "x", config: { name: "many" } },
    });
    const response = await fetch(`${server.base}/agent/runs?name=many`, {
      headers: { authorization: `Bearer ${server.key}`, accept: "text/event-stream" },
    });
    const hints = readData(response);
    // The run and its state are inserted in one statement, so both become visible together.
    await server.db`
      with ids as (select gen_random_uuid() as run_id from generate_series(1, 1200)),
        heads as (
          insert into run_state
          select (jsonb_populate_record(h, to_jsonb(i))).* from ids i, run_state h where h.run_id = ${body.run_id})
      insert into runs
      select (jsonb_populate_record(r, jsonb_build_object('run_id', i.run_id, 'updated_at', outrider_now()))).*
      from ids i, runs r where r.run_id = ${body.run_id}`;
    const told = new Set<string>();
    while (told.size < 1_200) {
      const { value } = await hints.next();
      expect(told.has(value.run_id)).toBe(false);
      told.add(value.run_id);
    }
    await cancel(body.run_id);
    expect((await hints.next()).value).toMatchObject({ run_id: body.run_id, state: "CANCELLED" });
    await hints.return(undefined);
  });
});

describe("the stream of events", () => {
  test("sends past events, then new ones, and ends with the run", async () => {
    const run = await create();
    const response = await open(run);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = read(response);
    expect((await events.next()).value).toMatchObject({ id: 1, event: "run.created", data: { seq: 1 } });
    await followUp(run);
    await cancel(run);
    expect((await events.next()).value).toMatchObject({ id: 2, event: "run.cancelled" });
    expect((await events.next()).done).toBe(true);
  });

  test("equals the list", async () => {
    const run = await runWith(6);
    const { events } = (await server.call("GET", `/agent/runs/${run}/events`)).body;
    expect((await readAll(await open(run))).map(({ data }) => data)).toEqual(events);
  });

  test("resumes after Last-Event-ID, which overrides after", async () => {
    const run = await runWith(6);
    const ids = async (options: object) => (await readAll(await open(run, options))).map(({ id }) => id);
    expect(await ids({ headers: { "last-event-id": "4" } })).toEqual([5, 6]);
    expect(await ids({ query: "?after=3" })).toEqual([4, 5, 6]);
    expect(await ids({ headers: { "last-event-id": "5" }, query: "?after=1" })).toEqual([6]);
  });

  test("returns nothing to a client at the end of a final run", async () => {
    const run = await runWith(2);
    expect((await open(run, { headers: { "last-event-id": "2" } })).status).toBe(204);
  });

  test("continues for a reopened run", async () => {
    const run = await runWith(2);
    await followUp(run);
    const events = read(await open(run, { headers: { "last-event-id": "2" } }));
    expect((await events.next()).value).toMatchObject({ id: 3, event: "run.reopened" });
    await cancel(run);
    expect((await events.next()).value).toMatchObject({ id: 4 });
    expect((await events.next()).done).toBe(true);
  });

  test("a client that is disconnected fifty times receives exactly the list", async () => {
    const run = await runWith(51);
    const seen: unknown[] = [];
    for (let last = 0; last < 51; last++) {
      const events = read(await open(run, { headers: { "last-event-id": String(last) } }));
      seen.push((await events.next()).value?.data);
      await events.return(undefined);
    }
    const { events } = (await server.call("GET", `/agent/runs/${run}/events`)).body;
    expect(events).toHaveLength(51);
    expect(seen).toEqual(events);
  });

  test("ends when its key is revoked", async () => {
    const made = (await server.call("POST", "/keys", { body: { name: "k", type: "personal" } })).body;
    const events = read(await open(await create(), { key: made.key }));
    await events.next();
    await server.call("DELETE", `/keys/${made.key_id}`);
    expect((await events.next()).done).toBe(true);
  });

  test("ends when another user deletes the run", async () => {
    const run = await create();
    const events = read(await open(run));
    await events.next();
    await server.db.begin(async (tx) => {
      await tx`delete from events where run_id = ${run}`;
      await tx`delete from runs where run_id = ${run}`;
    });
    expect((await events.next()).done).toBe(true);
  });

  test("sends events that another server wrote, even without a notification", async () => {
    const run = await create();
    const events = read(await open(run));
    await events.next();
    await server.db.begin(async (tx) => {
      await tx`update run_state set state = 'CANCELLED', last_seq = 2 where run_id = ${run}`;
      await tx`insert into events (run_id, seq, type, created_at, turn, attempt, data)
        values (${run}, 2, 'run.cancelled', outrider_now(), 1, 0, '{}')`;
    });
    expect((await events.next()).value).toMatchObject({ id: 2 });
  });
});
