import type { Behaviour, Call } from "../behaviour.ts";

/** A call that succeeds, and what of its value is the same each time. */
function works(
  call: Call,
  value: unknown,
  more: { words?: string; before?: Call[]; after?: Call[]; requests?: number; seen?: unknown[] } = {},
): Behaviour {
  const { words, before, after, requests = 1, seen } = more;
  const isPost = call.method !== "drain" ? /^(create|cancel|post)/.test(call.method) : true;
  return {
    name: [`${call.resource}.${call.method}`, words, call.raw && "as a raw response", "works"]
      .filter(Boolean)
      .join(" "),
    faults: [],
    call,
    expect: { value, requests, idempotency_keys: isPost ? 1 : 0, ...(seen ? { after: seen } : {}) },
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
  };
}

const finished: Call = {
  resource: "runs",
  method: "create_and_wait",
  body: { prompt: "WRITE: a.txt | hello\nSAY: done" },
  save: "run",
};
const waiting: Call = {
  resource: "runs",
  method: "create",
  body: { prompt: "SLEEP: 60000" },
  save: "run",
};
/** Waits until a worker has it. */
const started: Call = { resource: "runs", method: "stream", args: ["$run.run_id"], collect: 3 };
const followup: Call = {
  resource: "followups",
  method: "create",
  args: ["$run.run_id"],
  body: { message: "SAY: later", mode: "queue" },
  save: "followup",
};
const cancel: Call = { resource: "runs", method: "cancel", args: ["$run.run_id"], show: ["state"] };
const cancelled = { state: "CANCELLED" };
const environment: Call = {
  resource: "environments",
  method: "create",
  body: { name: "env-$unique.id", setup_commands: ["echo ready"] },
  save: "environment",
};
const build: Call = {
  resource: "builds",
  method: "create",
  args: ["$environment.environment_id"],
  save: "build",
};
const builtOf = ["$environment.environment_id", "$build.build_id"];
const builtUp: Call = { resource: "builds", method: "stream", args: builtOf, collect: 1_000 };
const identity: Call = {
  resource: "identities",
  method: "create",
  body: { name: "agent-$unique.id" },
  save: "identity",
};
const secret = "SDK_TABLE";

/** Every operation of the API at least once. */
export const endpoints: Behaviour[] = [
  works(
    { resource: "runs", method: "create", body: { prompt: "SAY: x" }, show: ["state"] },
    { state: "QUEUED" },
  ),
  works(
    { resource: "runs", method: "get", args: ["$run.run_id"], show: ["state", "source", "artifacts.length"] },
    { state: "SUCCEEDED", source: "API", "artifacts.length": 1 },
    { before: [finished] },
  ),
  works(
    {
      resource: "runs",
      method: "list",
      query: { metadata: { mark: "$unique.id" }, state: ["QUEUED", "INPROGRESS"], limit: 2 },
      collect: 10,
      show: ["title"],
    },
    ["5", "4", "3", "2", "1"].map((title) => ({ title })),
    {
      before: ["1", "2", "3", "4", "5"].map((title) => ({
        resource: "runs",
        method: "create",
        body: { prompt: "SLEEP: 60000", title, metadata: { mark: "$unique.id" } },
        save: `run${title}`,
      })),
      words: "over pages",
      requests: 3,
      after: ["1", "2", "3", "4", "5"].map((title) => ({ ...cancel, args: [`$run${title}.run_id`] })),
      seen: Array.from({ length: 5 }, () => cancelled),
    },
  ),
  works(
    {
      resource: "runs",
      method: "list",
      query: { limit: 1 },
      show: ["runs.length", "page_info.has_next_page"],
    },
    { "runs.length": 1, "page_info.has_next_page": true },
  ),
  works(cancel, cancelled, { before: [waiting] }),
  works(
    { resource: "runs", method: "delete", args: ["$run.run_id"], show: ["run_id"] },
    {},
    { before: [finished] },
  ),
  works(
    { resource: "runs", method: "diff", args: ["$run.run_id"], raw: true, show: ["headers.content-type"] },
    { "headers.content-type": "text/x-diff; charset=utf-8" },
    { before: [finished] },
  ),
  works(
    { resource: "runs", method: "diff", args: ["$run.run_id"], show: ["text"] },
    {
      text: [
        "diff --git a/a.txt b/a.txt",
        "new file mode 100644",
        "index 0000000000000000000000000000000000000000..b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0",
        "--- /dev/null",
        "+++ b/a.txt",
        "@@ -0,0 +1 @@",
        "+hello",
        "\\ No newline at end of file",
        "",
      ].join("\n"),
    },
    { before: [finished] },
  ),
  ...["markdown", "json", "ndjson"].map((format) =>
    works(
      {
        resource: "runs",
        method: "transcript",
        args: ["$run.run_id"],
        query: { format },
        raw: true,
        show: ["status", "headers.content-type"],
      },
      {
        status: 200,
        "headers.content-type": `${
          { markdown: "text/markdown", json: "application/json", ndjson: "application/x-ndjson" }[format]
        }; charset=utf-8`,
      },
      { words: `in ${format}`, before: [finished] },
    ),
  ),
  works(
    { ...followup, show: ["outcome"] },
    { outcome: "live_session" },
    {
      before: [waiting, started],
      after: [cancel],
      seen: [cancelled],
    },
  ),
  works(
    {
      resource: "followups",
      method: "list",
      args: ["$run.run_id"],
      show: ["followups.0.message", "followups.0.delivery"],
    },
    { "followups.0.message": "SAY: later", "followups.0.delivery": "queued" },
    {
      before: [waiting, started, followup],
      after: [cancel],
      seen: [cancelled],
    },
  ),
  works(
    {
      resource: "followups",
      method: "update",
      args: ["$run.run_id", "$followup.followup_id"],
      body: { message: "SAY: changed" },
      show: ["message"],
    },
    { message: "SAY: changed" },
    {
      before: [waiting, started, followup],
      after: [cancel],
      seen: [cancelled],
    },
  ),
  works(
    {
      resource: "followups",
      method: "delete",
      args: ["$run.run_id", "$followup.followup_id"],
      show: ["message"],
    },
    {},
    {
      before: [waiting, started, followup],
      after: [cancel],
      seen: [cancelled],
    },
  ),
  works(
    {
      resource: "events",
      method: "list",
      args: ["$run.run_id"],
      query: { after: 1, limit: 1 },
      show: ["events.0.seq", "events.0.type"],
    },
    { "events.0.seq": 2, "events.0.type": "run.claimed" },
    { before: [finished] },
  ),
  works(
    { resource: "artifacts", method: "get", args: ["$run.artifacts.0.artifact_id"], show: ["type", "name"] },
    { type: "PATCH", name: "changes.patch" },
    { before: [finished] },
  ),
  works(
    { resource: "artifacts", method: "content", args: ["$run.artifacts.0.artifact_id"], show: ["size"] },
    { size: 212 },
    { before: [finished] },
  ),
  works(
    { ...environment, show: ["version", "setup_commands.0"] },
    { version: 1, "setup_commands.0": "echo ready" },
  ),
  works(
    { resource: "environments", method: "list", show: ["environments.0.version"] },
    { "environments.0.version": 1 },
    { before: [environment] },
  ),
  works(
    { resource: "environments", method: "get", args: ["$environment.environment_id"], show: ["version"] },
    { version: 1 },
    { before: [environment] },
  ),
  works(
    {
      resource: "environments",
      method: "replace",
      args: ["$environment.environment_id"],
      body: { name: "env-$unique.id", setup_commands: ["echo again"] },
      show: ["version", "setup_commands.0"],
    },
    { version: 2, "setup_commands.0": "echo again" },
    { before: [environment] },
  ),
  works(
    { resource: "environments", method: "delete", args: ["$environment.environment_id"], show: ["name"] },
    {},
    { before: [environment] },
  ),
  works(
    { ...build, show: ["version"] },
    { version: 1 },
    {
      before: [environment],
      after: [{ ...builtUp, args: builtOf, show: ["missing"], collect: 1 }],
      seen: [[{}]],
    },
  ),
  works(
    { resource: "builds", method: "list", args: ["$environment.environment_id"], show: ["builds.length"] },
    { "builds.length": 1 },
    { before: [environment, build, builtUp] },
  ),
  works(
    { resource: "builds", method: "get", args: builtOf, show: ["state"] },
    { state: "READY" },
    { before: [environment, build, builtUp] },
  ),
  works(
    {
      resource: "builds",
      method: "events",
      args: builtOf,
      query: { limit: 1 },
      show: ["events.0.seq", "page_info.has_next_page"],
    },
    { "events.0.seq": 1, "page_info.has_next_page": true },
    { before: [environment, build, builtUp] },
  ),
  works({ ...builtUp, collect: 2, show: ["seq"] }, [{ seq: 1 }, { seq: 2 }], {
    before: [environment, build],
  }),
  works(
    { resource: "secrets", method: "put", args: [secret], body: { value: "a long secret" }, show: ["name"] },
    { name: secret },
  ),
  works({ resource: "secrets", method: "list", show: ["secrets.0.name"] }, { "secrets.0.name": secret }),
  works({ resource: "secrets", method: "delete", args: [secret], show: ["name"] }, {}),
  works({ resource: "models", method: "list", show: ["default_model_id"] }, { default_model_id: "scripted" }),
  works(
    { ...identity, show: ["description"], body: { name: "agent-$unique.id", description: "d" } },
    { description: "d" },
  ),
  works({ resource: "identities", method: "list", show: ["missing"] }, {}),
  works(
    { resource: "identities", method: "get", args: ["$identity.uid"], show: ["missing"] },
    {},
    { before: [identity] },
  ),
  works(
    {
      resource: "identities",
      method: "replace",
      args: ["$identity.uid"],
      body: { name: "agent-$unique.id", description: "new" },
      show: ["description"],
    },
    { description: "new" },
    { before: [identity] },
  ),
  works(
    { resource: "identities", method: "delete", args: ["$identity.uid"], show: ["uid"] },
    {},
    { before: [identity] },
  ),
  works(
    {
      resource: "keys",
      method: "create",
      body: { name: "made", type: "personal", scopes: ["runs:read"] },
      show: ["name", "scopes"],
    },
    { name: "made", scopes: ["runs:read"] },
  ),
  works({ resource: "keys", method: "list", show: ["missing"] }, {}),
  works(
    { resource: "keys", method: "delete", args: ["$key.key_id"], show: ["key_id"] },
    {},
    {
      before: [{ resource: "keys", method: "create", body: { name: "gone", type: "personal" }, save: "key" }],
    },
  ),
  works(
    { resource: "workers", method: "list", show: ["workers.0.is_alive"], save: "list" },
    { "workers.0.is_alive": true },
  ),
  works({ resource: "me", method: "get", show: ["type", "role"] }, { type: "user", role: "admin" }),
  works(
    { resource: "me", method: "get", raw: true, show: ["status", "headers.content-type"] },
    { status: 200, "headers.content-type": "application/json; charset=utf-8" },
  ),
  works(
    { resource: "client", method: "get", args: ["/agent/models"], show: ["default_model_id"] },
    { default_model_id: "scripted" },
  ),
  works(
    { resource: "client", method: "get", args: ["/agent/runs"], query: { limit: 1 }, show: ["runs.length"] },
    { "runs.length": 1 },
    { words: "with a query" },
  ),
  works(
    { resource: "client", method: "post", args: ["/agent/run"], body: { prompt: "SAY: x" }, show: ["state"] },
    { state: "QUEUED" },
  ),
  works(
    {
      resource: "client",
      method: "put",
      args: ["/agent/secrets/SDK_OTHER"],
      body: { value: "a long secret" },
      show: ["name"],
    },
    { name: "SDK_OTHER" },
  ),
  works({ resource: "client", method: "delete", args: ["/agent/secrets/SDK_OTHER"], show: ["name"] }, {}),
  works(
    {
      resource: "client",
      method: "patch",
      args: ["/agent/runs/$run.run_id/followups/$followup.followup_id"],
      body: { message: "SAY: changed" },
      show: ["message"],
    },
    { message: "SAY: changed" },
    {
      before: [waiting, started, followup],
      after: [cancel],
      seen: [cancelled],
    },
  ),
];
