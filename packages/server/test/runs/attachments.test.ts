import { createHash, randomUUID } from "node:crypto";
import { zeroUsage } from "@outrider/contract/run";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let workerKey: string;
beforeAll(async () => {
  server = await testServer();
  workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
});
afterAll(() => server.stop());

const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 100 };
const post = (path: string, body: object) => server.call("POST", `/worker${path}`, { body, key: workerKey });
const fetched = (path: string, key = workerKey) =>
  fetch(`${server.base}/worker${path}`, { headers: { authorization: `Bearer ${key}` } });
const events = async (run: string) => (await server.call("GET", `/agent/runs/${run}/events`)).body.events;
const bytes = Buffer.from([0, 255, 1, 254, 10, 13]);
const file = (file_name: string, data = bytes) => ({
  file_name,
  mime_type: "image/png",
  data: data.toString("base64"),
});

async function claimed(body: object = {}) {
  const made = await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello", ...body } });
  const { run_id } = made.body as { run_id: string };
  const claim = { request_id: randomUUID(), worker, free: 100, wait_ms: 0 };
  const { executions } = (await post("/claim", claim)).body;
  const { execution_id, history } = executions.find((one: { run_id: string }) => one.run_id === run_id);
  return { run_id, history, path: `/executions/${execution_id}` };
}
const followUp = (run: string, body: object) =>
  server.call("POST", `/agent/runs/${run}/followups`, { body: { message: "and this", ...body } });

describe("a run's attachments", () => {
  test("are listed in the first event and can be fetched by its worker", async () => {
    const { run_id, history, path } = await claimed({
      attachments: [file("a.png"), file("b.png", Buffer.alloc(0))],
    });
    const { attachments } = (await events(run_id))[0].data;
    expect(attachments).toEqual([
      { attachment_id: expect.any(String), file_name: "a.png", mime_type: "image/png", size_bytes: 6 },
      { attachment_id: expect.any(String), file_name: "b.png", mime_type: "image/png", size_bytes: 0 },
    ]);
    expect(history[0].data.attachments).toEqual(attachments);
    const answer = await fetched(`${path}/attachments/${attachments[0].attachment_id}`);
    expect([answer.status, Buffer.from(await answer.arrayBuffer())]).toEqual([200, bytes]);
    expect((await fetched(`${path}/attachments/${attachments[1].attachment_id}`)).status).toBe(200);
  });

  test("are omitted if there are none", async () => {
    const { history } = await claimed();
    expect(history[0].data).not.toHaveProperty("attachments");
  });

  test("of a follow-up are part of its event and its delivery, also when the delivery is repeated", async () => {
    const { run_id, path } = await claimed();
    await followUp(run_id, { attachments: [file("more.png")] });
    await followUp(run_id, {});
    const report = { run_id, batch: 1, events: [], deliver: true };
    const first = (await post(`${path}/report`, report)).body;
    const sent = {
      attachment_id: expect.any(String),
      file_name: "more.png",
      mime_type: "image/png",
      size_bytes: 6,
    };
    expect(first.followups).toMatchObject([{ attachments: [sent] }, { message: "and this" }]);
    expect(first.followups[1]).not.toHaveProperty("attachments");
    expect((await post(`${path}/report`, report)).body.followups).toEqual(first.followups);
    const messages = (await events(run_id)).filter(({ type }: { type: string }) => type === "message.user");
    expect(messages[0].data.attachments).toEqual(first.followups[0].attachments);
    expect(messages[1].data).not.toHaveProperty("attachments");
    const { attachment_id } = first.followups[0].attachments[0];
    expect((await fetched(`${path}/attachments/${attachment_id}`)).status).toBe(200);
  });

  test("of a follow-up at the end of a turn are part of the response", async () => {
    const { run_id, path } = await claimed();
    await followUp(run_id, { mode: "queue", attachments: [file("late.png")] });
    const end = {
      run_id,
      batch: 1,
      events: [],
      usage: zeroUsage,
      outcome: { type: "succeeded", text: "done" },
    };
    expect((await post(`${path}/finish`, end)).body).toMatchObject({
      ended: false,
      followups: [{ attachments: [{ file_name: "late.png" }] }],
    });
  });

  test("can be fetched only by the execution that holds the lease", async () => {
    const { run_id, history, path } = await claimed({ attachments: [file("a.png")] });
    const { attachment_id } = history[0].data.attachments[0];
    const other = await claimed();
    expect((await fetched(`${other.path}/attachments/${attachment_id}`)).status).toBe(404);
    expect((await fetched(`/executions/${randomUUID()}/attachments/${attachment_id}`)).status).toBe(404);
    expect((await fetched(`${path}/attachments/${attachment_id}`, server.key)).status).toBe(403);
    await server.call("POST", `/agent/runs/${run_id}/cancel`);
    expect((await fetched(`${path}/attachments/${attachment_id}`)).status).toBe(409);
  });
});

test("a worker can read the artifacts of its own run, and no others", async () => {
  const { run_id, path } = await claimed();
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const stored = await fetch(`${server.base}/worker/blobs/${sha256}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${workerKey}`, "content-type": "application/octet-stream" },
    body: bytes,
  });
  expect(stored.status).toBe(204);
  const artifact = {
    artifact_id: randomUUID(),
    type: "FILE",
    name: "x.png",
    mime_type: "image/png",
    size_bytes: 6,
    sha256,
  };
  const report = { run_id, batch: 1, events: [], deliver: false, artifacts: [artifact] };
  expect((await post(`${path}/report`, report)).status).toBe(200);
  const answer = await fetched(`${path}/artifacts/${artifact.artifact_id}`);
  expect([answer.status, Buffer.from(await answer.arrayBuffer())]).toEqual([200, bytes]);
  const other = await claimed();
  expect((await fetched(`${other.path}/artifacts/${artifact.artifact_id}`)).status).toBe(404);
});
