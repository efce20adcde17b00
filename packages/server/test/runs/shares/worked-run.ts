import { createHash, randomUUID } from "node:crypto";
import { zeroUsage } from "@outrider/contract/run";
import type { TestServer } from "../../server.ts";

/** Marks everything that an anonymous reader must not see. */
export const HIDDEN = "for-us-alone";

export const FILE = "what the agent left";
export const PATCH = "diff --git a/x b/x\n";

const config = {
  name: "shown-name",
  base_prompt: `Base ${HIDDEN}`,
  mcp_servers: {
    shown_http: { url: `https://${HIDDEN}.example/mcp`, headers: { "X-Token": HIDDEN } },
    shown_stdio: { command: `/opt/${HIDDEN}`, args: [HIDDEN], env: { TOKEN: HIDDEN } },
  },
};

const events = [
  { type: "run.started", data: { instructions: `Instructions ${HIDDEN}`, model_id: "scripted" } },
  {
    type: "environment.step",
    data: { name: "shown-step", state: "started", detail: HIDDEN, output: HIDDEN },
  },
  { type: "notice", data: { code: "shown_notice", message: `Host ${HIDDEN}` } },
  { type: "notice", data: { message: `Host ${HIDDEN}` } },
  { type: "message.agent", data: { text: "shown-words" } },
];

const receipt = {
  worker: HIDDEN,
  harness_version: "1",
  harness: { name: "claude", title: "Claude Code", version: "2.0.0" },
  model_id: "scripted",
  mcp_servers: [{ name: "shown_http", transport: "http", tools: ["shown_tool"] }],
  network: { mode: "allowlist", allow: [`${HIDDEN}.example`] },
  resources: { pids: { enforced: false, reason: HIDDEN } },
};

/** Creates a run with data that anonymous readers must not see, which a worker has claimed, reported on and failed. */
export async function workedRun(server: TestServer, key: string) {
  const { key: workerKey } = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } }))
    .body;
  const callAsWorker = async (path: string, body: object) => {
    const response = await server.call("POST", `/worker${path}`, { body, key: workerKey });
    if (response.status !== 200) throw new Error(`${path}: ${response.text}`);
    return response.body;
  };
  const storeBlob = async (content: string) => {
    const sha256 = createHash("sha256").update(content).digest("hex");
    const response = await fetch(`${server.base}/worker/blobs/${sha256}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${workerKey}`, "content-type": "application/octet-stream" },
      body: content,
    });
    if (response.status !== 204) throw new Error(await response.text());
    return { sha256, size_bytes: content.length };
  };
  const metadata = { label: HIDDEN };
  const body = { prompt: "shown-prompt", config, metadata };
  const { run_id } = (await server.call("POST", "/agent/run", { body, key })).body as { run_id: string };
  const worker = { worker_id: randomUUID(), name: HIDDEN, version: "0", slots: 100 };
  const { executions } = await callAsWorker("/claim", {
    request_id: randomUUID(),
    worker,
    free: 100,
    wait_ms: 0,
  });
  const { execution_id } = executions.find((execution: { run_id: string }) => execution.run_id === run_id);
  const artifact_id = randomUUID();
  const kind = { type: "FILE", name: "left behind.txt", mime_type: "text/html" };
  await callAsWorker(`/executions/${execution_id}/report`, {
    run_id,
    batch: 1,
    events,
    deliver: false,
    artifacts: [{ artifact_id, ...kind, ...(await storeBlob(FILE)) }],
  });
  await callAsWorker(`/executions/${execution_id}/finish`, {
    run_id,
    batch: 2,
    events: [],
    usage: zeroUsage,
    receipt,
    snapshot: { sha256: (await storeBlob("snapshot")).sha256, seq: 3, diff: await storeBlob(PATCH) },
    outcome: { type: "failed", error_code: "mcp_server_failed", message: `It said ${HIDDEN}.` },
  });
  return { run_id, artifact_id, execution_id: execution_id as string };
}
