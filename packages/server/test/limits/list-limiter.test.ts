import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

test("slow lists of one caller do not block other callers", async () => {
  const other = await server.user("other@example.com");
  const answered: number[] = [];
  const slow = await server.db.begin(async (tx) => {
    await tx`lock table run_search in access exclusive mode`;
    const asked = Array.from({ length: 60 }, async () => {
      answered.push((await server.call("GET", "/agent/runs?q=parser")).status);
    });
    for (let count = 0; count < 20; count++) {
      expect((await server.call("GET", "/me", { key: other })).status).toBe(200);
      expect((await server.call("GET", "/agent/runs", { key: other })).status).toBe(200);
    }
    const { text } = await server.call("GET", `${server.origin}/metrics`);
    expect(text).toMatch(/^outrider_lists_running 2$/m);
    expect(text).toMatch(/^outrider_lists_waiting 58$/m);
    // All of them were in progress meanwhile.
    expect(answered).toEqual([]);
    return { all: Promise.all(asked) };
  });
  await slow.all;
  expect(answered.filter((status) => status === 200).length).toBeGreaterThan(50);
});

test("filters by the email addresses of many users at once", async () => {
  await server.user("Ada@example.com");
  const { body } = await server.call("POST", "/agent/run", { body: { prompt: "SAY: a" } });
  const query = [
    "admin@LOCALHOST",
    "me",
    ...Array.from({ length: 98 }, (_, index) => `nobody${index}@example.com`),
  ];
  const found = await server.call("GET", `/agent/runs?${query.map((one) => `creator=${one}`).join("&")}`);
  expect(found.body.runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([body.run_id]);
  const none = await server.call("GET", "/agent/runs?creator=ada@example.com");
  expect(none.body.runs).toEqual([]);
});
