import type { Behavior, Call } from "../behavior.ts";
import { succeeds } from "./success.ts";

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
/** Waits until a worker has claimed the run. */
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

/** Every operation on runs. */
export const runs: Behavior[] = [
  succeeds(
    { resource: "runs", method: "create", body: { prompt: "SAY: x" }, show: ["state"] },
    { state: "QUEUED" },
  ),
  succeeds(
    { resource: "runs", method: "get", args: ["$run.run_id"], show: ["state", "source", "artifacts.length"] },
    { state: "SUCCEEDED", source: "API", "artifacts.length": 1 },
    { before: [finished] },
  ),
  succeeds(
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
      detail: "over pages",
      requests: 3,
      after: ["1", "2", "3", "4", "5"].map((title) => ({ ...cancel, args: [`$run${title}.run_id`] })),
      seen: Array.from({ length: 5 }, () => cancelled),
    },
  ),
  succeeds(
    {
      resource: "runs",
      method: "list",
      query: { limit: 1 },
      show: ["runs.length", "page_info.has_next_page"],
    },
    { "runs.length": 1, "page_info.has_next_page": true },
  ),
  succeeds(cancel, cancelled, { before: [waiting] }),
  succeeds(
    {
      resource: "runs",
      method: "share",
      args: ["$run.run_id"],
      body: { expires_in_hours: 1 },
      raw: true,
      show: ["status"],
    },
    { status: 201 },
    { before: [finished] },
  ),
  succeeds(
    { resource: "runs", method: "unshare", args: ["$run.run_id"], raw: true, show: ["status"] },
    { status: 204 },
    { before: [finished] },
  ),
  succeeds(
    { resource: "runs", method: "delete", args: ["$run.run_id"], show: ["run_id"] },
    {},
    { before: [finished] },
  ),
  succeeds(
    { resource: "runs", method: "diff", args: ["$run.run_id"], raw: true, show: ["headers.content-type"] },
    { "headers.content-type": "text/x-diff; charset=utf-8" },
    { before: [finished] },
  ),
  succeeds(
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
    succeeds(
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
      { detail: `in ${format}`, before: [finished] },
    ),
  ),
  succeeds(
    { ...followup, show: ["outcome"] },
    { outcome: "live_session" },
    {
      before: [waiting, started],
      after: [cancel],
      seen: [cancelled],
    },
  ),
  succeeds(
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
  succeeds(
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
  succeeds(
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
  succeeds(
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
  succeeds(
    {
      resource: "artifacts",
      method: "get",
      args: ["$run.artifacts.0.artifact_id"],
      show: ["artifact_type", "name"],
    },
    { artifact_type: "PATCH", name: "changes.patch" },
    { before: [finished] },
  ),
  succeeds(
    { resource: "artifacts", method: "content", args: ["$run.artifacts.0.artifact_id"], show: ["size"] },
    { size: 212 },
    { before: [finished] },
  ),
  succeeds(
    {
      resource: "files",
      method: "list",
      args: ["$run.run_id"],
      query: { path: "" },
      show: ["path", "entries.length", "is_truncated"],
    },
    { path: "", "entries.length": 1, is_truncated: false },
    { before: [finished] },
  ),
  succeeds(
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
