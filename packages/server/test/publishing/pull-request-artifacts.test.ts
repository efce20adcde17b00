import { randomUUID } from "node:crypto";
import { toSharedRun } from "@outrider/contract/shares/shared-view";
import { afterAll, beforeAll, expect, test } from "vitest";
import { putPullRequest } from "../../src/store/pull-requests.ts";
import { appendEngineEvents } from "../../src/store/runs/events.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let runId: string;
const pull_request_id = randomUUID();
const pullRequest = {
  ...{ repository: "acme/secret-project", number: 12, url: "https://git.test/acme/secret-project/pulls/12" },
  ...{ branch: "outrider/fix", base: "main", state: "open" as const, title: "Fix it" },
};

beforeAll(async () => {
  server = await testServer();
  runId = (await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello" } })).body.run_id;
  await server.db.begin(async (tx) => {
    const ids = { pull_request_id, run_id: runId, path: "api", forge_id: randomUUID() };
    await putPullRequest(tx, { ...ids, ...pullRequest, head_commit: "1", pushed_commit: "1" });
    await appendEngineEvents(tx, runId, [{ type: "pull_request.opened", data: pullRequest }]);
  });
});
afterAll(() => server.stop());

test("a pull request is an artifact whose content is its URL", async () => {
  const artifact = {
    ...{ artifact_id: pull_request_id, artifact_type: "PULL_REQUEST", name: "pull-request-12.url" },
    ...{ mime_type: "text/uri-list", size_bytes: pullRequest.url.length + 2, created_at: expect.any(String) },
    pull_request: pullRequest,
  };
  const { body: run } = await server.call("GET", `/agent/runs/${runId}`);
  expect(run).toMatchObject({ artifacts: [artifact], pull_requests: [pullRequest] });
  const path = `/agent/artifacts/${pull_request_id}`;
  expect((await server.call("GET", path)).body).toEqual({ ...artifact, run_id: runId });
  const content = await server.call("GET", `${path}/content`);
  expect(content.text).toBe(`${pullRequest.url}\r\n`);
  expect(content.headers.get("content-disposition")).toContain("pull-request-12.url");
  const agents = await server.call("GET", "/agent/runs?artifact_type=PULL_REQUEST&pull_request_state=open");
  expect(agents.body.runs).toMatchObject([{ run_id: runId, pull_requests: [pullRequest] }]);
  const none = await server.call("GET", "/agent/runs?pull_request_state=merged&pull_request_state=closed");
  expect(none.body.runs).toEqual([]);
});

test("readers of a share link learn neither the repository nor the URL", async () => {
  const { body: share } = await server.call("POST", `/agent/runs/${runId}/share`, { body: {} });
  const shared = await server.call("GET", share.link, { key: null, headers: { accept: "application/json" } });
  expect(shared.status).toBe(200);
  expect(shared.text).toContain("pull_request.opened");
  expect(shared.text).not.toContain("secret-project");
  const artifact = await server.call("GET", `${share.link}/artifacts/${pull_request_id}`, { key: null });
  expect(artifact.status).toBe(404);
  const { body: run } = await server.call("GET", `/agent/runs/${runId}`);
  expect(JSON.stringify(toSharedRun(run))).not.toContain("secret-project");
});

test("a list's stream of changes follows the filter", async () => {
  const controller = new AbortController();
  const response = await fetch(`${server.base}/agent/runs?pull_request_state=open`, {
    headers: { authorization: `Bearer ${server.key}`, accept: "text/event-stream" },
    signal: controller.signal,
  });
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  const { body: other } = await server.call("POST", "/agent/run", { body: { prompt: "SAY: other" } });
  await server.db`update runs set updated_at = outrider_now() where run_id = ${runId}`;
  let text = "";
  while (!text.includes(runId)) text += (await reader.read()).value ?? "";
  expect(text).not.toContain(other.run_id);
  controller.abort();
});
