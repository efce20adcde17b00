import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "./server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

const create = async (body: object = {}) =>
  (await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello", ...body } })).body
    .run_id as string;

describe("creating a run", () => {
  test("answers at once with id, state and address, on both paths", async () => {
    for (const path of ["/agent/run", "/agent/runs"]) {
      const { status, body, headers } = await server.call("POST", path, { body: { prompt: "SAY: hello" } });
      expect(status).toBe(200);
      expect(body).toEqual({
        run_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        state: "QUEUED",
        at_capacity: true,
      });
      expect(headers.get("location")).toBe(`/api/v1/agent/runs/${body.run_id}`);
    }
  });
});

describe("cancelling", () => {
  test("holds when the answer leaves, and a second cancel answers the same", async () => {
    const run = await create();
    for (let round = 0; round < 2; round++) {
      const { status, body } = await server.call("POST", `/agent/runs/${run}/cancel`);
      expect([status, body]).toEqual([200, { run_id: run, state: "CANCELLED" }]);
    }
    const { body } = await server.call("GET", `/agent/runs/${run}`);
    expect(body).toMatchObject({ state: "CANCELLED", phase: "done", finished_at: expect.any(String) });
  });
});
