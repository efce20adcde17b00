import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type FaultProxy, startFaultProxy } from "../../../e2e/clients/fault-proxy.ts";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { startTestInstallation, type TestInstallation } from "../../worker/test/installation.ts";
import { Outrider } from "../src/client.ts";
import { APIUserAbortError } from "../src/errors.ts";
import { readMessages } from "../src/sse.ts";

let installation: TestInstallation;
let proxy: FaultProxy;
let client: Outrider;

beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker();
  proxy = await startFaultProxy(installation.origin);
  client = new Outrider({ apiKey: installation.key, baseURL: `${proxy.origin}/api/v1`, logLevel: "off" });
});
afterAll(async () => {
  await proxy?.close();
  await installation?.stop();
});

const says = (count: number) => Array.from({ length: count }, (_, index) => `SAY: line ${index}`);

describe("streams", () => {
  test("return all events once and in order after 50 lost connections", async () => {
    const run = await installation.create(Array.from({ length: 26 }, (_, index) => `RUN: echo ${index}`));
    proxy.set([
      { kind: "cut_stream", after_events: 1, times: 25 },
      { kind: "cut_stream", after_events: 2, times: 25, clean: true },
    ]);
    const seen: number[] = [];
    for await (const event of client.runs.stream(run)) seen.push(event.seq);
    const events = await installation.events(run);
    expect(events.length).toBeGreaterThan(75);
    expect(seen).toEqual(events.map(({ seq }) => seq));
    expect(proxy.seen().length).toBeGreaterThan(50);
    expect(proxy.seen()[1]?.headers["last-event-id"]).toBe("1");
  });

  test("follow a run through a server restart", async () => {
    const run = await installation.create([...says(3), "RUN: sleep 2", ...says(3)]);
    proxy.set([]);
    const types: string[] = [];
    for await (const event of client.runs.stream(run)) {
      types.push(event.type);
      if (event.type === "command.started") await installation.restart();
    }
    expect(types.at(-1)).toBe("run.succeeded");
    expect(types).toEqual((await installation.events(run)).map(({ type }) => type));
  });

  test("contain deltas only on request", async () => {
    const words = async (deltas: boolean) => {
      const run = await installation.create(["RUN: sleep 0.5", "SAY: in pieces", "SLEEP: 300", "SAY: end"]);
      const types = new Set<string>();
      for await (const event of client.runs.stream(run, { deltas: deltas as true })) types.add(event.type);
      return types;
    };
    expect([...(await words(false))]).not.toContain("message.agent.delta");
    expect([...(await words(true))]).toContain("message.agent.delta");
  });

  test("fail with APIUserAbortError when aborted, and end without an error when closed", async () => {
    const run = await installation.create(["SLEEP: 60000"]);
    const controller = new AbortController();
    const aborted = (async () => {
      for await (const event of client.runs.stream(run, { signal: controller.signal }))
        if (event.seq === 3) controller.abort();
    })();
    await expect(aborted).rejects.toBeInstanceOf(APIUserAbortError);
    const stream = client.runs.stream(run);
    const seen: number[] = [];
    for await (const event of stream) {
      seen.push(event.seq);
      if (event.seq === 3) stream.close();
    }
    expect(seen).toEqual([1, 2, 3]);
    expect(stream.lastSeq).toBe(3);
    await client.runs.cancel(run);
  });

  test("close the connection when the loop ends", async () => {
    const run = await installation.create(["SLEEP: 60000"]);
    const before = proxy.connections();
    for await (const event of client.runs.stream(run)) if (event.seq === 3) break;
    await vi.waitUntil(() => proxy.connections() <= before, waitOptions);
    await client.runs.cancel(run);
  });
});

describe("waiting", () => {
  test("is aborted by its signal", async () => {
    const run = await installation.create(["SLEEP: 60000"]);
    const controller = new AbortController();
    proxy.set([]);
    const wait = client.runs.wait(run, { signal: controller.signal });
    await vi.waitUntil(() => proxy.seen().length > 1, waitOptions);
    controller.abort();
    await expect(wait).rejects.toBeInstanceOf(APIUserAbortError);
    await client.runs.cancel(run);
  });

  test("returns a failed run without throwing", async () => {
    const run = await client.runs.createAndWait({ prompt: "FAIL: no luck" });
    expect(run).toMatchObject({ state: "FAILED", status_message: { error_code: expect.any(String) } });
  });
});

test("drains a worker", async () => {
  const worker = await installation.worker({ slots: 1 });
  const { worker_id } = await vi.waitUntil(
    async () => (await client.workers.list()).workers.find(({ slots }) => slots === 1),
    waitOptions,
  );
  expect(await client.workers.drain(worker_id)).toMatchObject({ worker_id, draining: true });
  await worker.drain();
});

describe("server-sent events", () => {
  async function read(...pieces: (string | Uint8Array)[]) {
    const bytes = pieces.map((piece) =>
      typeof piece === "string" ? new TextEncoder().encode(piece) : piece,
    );
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const each of bytes) controller.enqueue(each);
        controller.close();
      },
    });
    const messages = [];
    for await (const message of readMessages(body, { idle: 1_000, signal: new AbortController().signal }))
      messages.push(message);
    return messages;
  }

  test.each([
    ["in one piece", ["id: 1\nevent: a\ndata: x\n\n"], [{ id: "1", event: "a", data: "x" }]],
    [
      "with other line ends",
      ["id: 1\r\ndata: x\r\n\r\nid: 2\rdata: y\r\r:"],
      [
        { id: "1", data: "x" },
        { id: "2", data: "y" },
      ],
    ],
    ["with a line end cut in two", ["data: x\r", "\n\r", "\ndata: y\n\n"], [{ data: "x" }, { data: "y" }]],
    ["of several lines", ["data: a\ndata\ndata:b\n\n"], [{ data: "a\n\nb" }]],
    ["among comments", [": still here\n\ndata: x\n\n: bye\n\n"], [{ data: "x" }]],
    ["without the end that a cut took", ["data: x\n\ndata: lost\n"], [{ data: "x" }]],
  ])("are read %s", async (_, pieces, messages) => {
    expect(await read(...pieces)).toEqual(messages);
  });

  test("handle characters that are split between chunks", async () => {
    const bytes = new TextEncoder().encode("data: grün\n\n");
    expect(await read(bytes.slice(0, 9), bytes.slice(9))).toEqual([{ data: "grün" }]);
  });

  test("are independent of chunk boundaries", async () => {
    const text = "id: 1\r\ndata: ä\r\n\r\n: c\n\nid: 2\ndata: b\n\n";
    const bytes = new TextEncoder().encode(text);
    for (let size = 1; size < bytes.length; size++) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.slice(index * size, (index + 1) * size),
      );
      expect(await read(...pieces)).toEqual([
        { id: "1", data: "ä" },
        { id: "2", data: "b" },
      ]);
    }
  });
});
