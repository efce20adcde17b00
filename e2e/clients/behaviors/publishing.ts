import type { Behavior, Call } from "../behavior.ts";
import type { Fault } from "../fault-proxy.ts";
import { succeeds } from "./success.ts";

/** `github` is a GitHub with the repository acme/api. */
const connect: Call = {
  resource: "forges",
  method: "create",
  body: { type: "github", url: "$github.url", token: "$github.token" },
  save: "forge",
};
const forge = ["$forge.forge_id"];

const finished: Call = {
  resource: "runs",
  method: "create_and_wait",
  body: { prompt: "SAY: done" },
  save: "run",
};
const environment: Call = {
  resource: "environments",
  method: "create",
  body: {
    name: "env-$unique.id",
    repos: [{ url: "$github.url/acme/api.git", path: "api", publish: { approval: "required" } }],
  },
  save: "environment",
};
const changed: Call = {
  resource: "runs",
  method: "create_and_wait",
  body: {
    prompt: "RUN: echo $unique.id > note.txt",
    title: "Add a note",
    config: { environment_id: "$environment.environment_id" },
  },
  save: "run",
};
const publish: Call = {
  resource: "publications",
  method: "create",
  args: ["$run.run_id"],
  body: { kind: "draft_pull_request" },
  save: "publication",
};
const publication = ["$run.run_id", "$publication.publication_id"];
const approve: Call = { resource: "publications", method: "approve", args: publication, body: {} };
const published = [connect, environment, changed, publish];
const unknown = "00000000-0000-7000-8000-000000000000";

const publicationWait: Call = { resource: "publications", method: "wait", args: ["$run.run_id", unknown] };

/** A response of the proxy with a publication in the state. */
const answer = (state: string, times = 1): Fault => ({
  kind: "answer",
  status: 200,
  headers: { "content-type": "application/json" },
  body: {
    publication_id: unknown,
    run_id: "$run.run_id",
    turn: 1,
    path: "api",
    repository: "https://github.com/acme/api",
    kind: "draft_pull_request",
    state,
    branch: "outrider/add-a-note-1f2e3d4c",
    commit: "0".repeat(40),
    title: "Add a note",
    files_changed: 1,
    diff_bytes: 100,
    requested_by: { type: "policy" },
    created_at: "2026-01-01T00:00:00.000Z",
  },
  times,
});

/** Every operation on publications and forges, except for GitHub Apps, which need a browser. */
export const publishing: Behavior[] = [
  succeeds(
    {
      resource: "publications",
      method: "list",
      args: ["$run.run_id"],
      show: ["publications", "publishable"],
    },
    { publications: [], publishable: [] },
    { before: [finished] },
  ),
  {
    name: "publishing a run without changes raises ConflictError",
    before: [finished],
    faults: [],
    call: publish,
    expect: {
      error: { class: "ConflictError", status: 409, code: "conflict" },
      requests: 1,
      idempotency_keys: 1,
    },
  },
  {
    name: "waiting for an unknown publication raises NotFoundError",
    before: [finished],
    faults: [],
    call: publicationWait,
    expect: {
      error: { class: "NotFoundError", status: 404, code: "resource_not_found" },
      requests: 1,
      idempotency_keys: 0,
    },
  },
  succeeds(
    { ...publish, show: ["state", "title", "files_changed"] },
    { state: "AWAITING_APPROVAL", title: "Add a note", files_changed: 1 },
    { before: [connect, environment, changed] },
  ),
  succeeds(
    { resource: "publications", method: "wait", args: publication, show: ["state"] },
    { state: "AWAITING_APPROVAL" },
    { before: published, detail: "for a publication that needs approval" },
  ),
  {
    name: "publications.wait polls until the publication is final",
    before: [finished],
    faults: [answer("QUEUED"), answer("PUSHING"), answer("PUSHED"), answer("FAILED")],
    call: { ...publicationWait, show: ["state"] },
    expect: { value: { state: "FAILED" }, requests: 4, idempotency_keys: 0 },
  },
  {
    name: "a wait for a publication that takes too long raises WaitTimeoutError",
    before: [finished],
    faults: [answer("PUSHING", 100)],
    call: { ...publicationWait, options: { timeout_ms: 300 } },
    expect: { error: { class: "WaitTimeoutError" }, requests: -1, idempotency_keys: 0 },
    at_least_ms: 300,
  },
  {
    name: "publications.approve works, and publications.wait returns the pull request",
    before: published,
    faults: [],
    call: { ...approve, show: ["decided_by.type"] },
    after: [
      { resource: "publications", method: "wait", args: publication, show: ["state", "pull_request.state"] },
      { resource: "publications", method: "get", args: publication, show: ["state", "pull_request.base"] },
    ],
    expect: {
      value: { "decided_by.type": "user" },
      requests: 1,
      idempotency_keys: 1,
      after: [
        { state: "DONE", "pull_request.state": "draft" },
        { state: "DONE", "pull_request.base": "main" },
      ],
    },
  },
  {
    name: "publications.reject works",
    before: published,
    faults: [],
    call: { resource: "publications", method: "reject", args: publication, body: {}, show: ["state"] },
    expect: { value: { state: "REJECTED" }, requests: 1, idempotency_keys: 1 },
  },
  succeeds(
    { ...connect, show: ["type", "auth", "login", "token"] },
    { type: "github", auth: "token", login: "octocat" },
  ),
  {
    name: "connecting a forge with a rejected token raises BadRequestError",
    faults: [],
    call: { ...connect, body: { type: "github", url: "$github.url", token: "not-the-token" } },
    expect: {
      error: { class: "BadRequestError", status: 400, code: "invalid_request" },
      requests: 1,
      idempotency_keys: 1,
    },
  },
  succeeds(
    { resource: "forges", method: "list", show: ["forges.length", "forges.0.login"] },
    { "forges.length": 1, "forges.0.login": "octocat" },
    { before: [connect] },
  ),
  succeeds(
    { resource: "forges", method: "get", args: forge, show: ["auth"] },
    { auth: "token" },
    { before: [connect] },
  ),
  succeeds(
    {
      resource: "forges",
      method: "repositories",
      args: forge,
      query: { q: "api" },
      show: ["repositories.0.repository", "repositories.0.can_push", "has_more"],
    },
    { "repositories.0.repository": "acme/api", "repositories.0.can_push": true, has_more: false },
    { before: [connect] },
  ),
  succeeds(
    { resource: "forges", method: "delete", args: forge, show: ["forge_id"] },
    {},
    {
      before: [connect],
      after: [{ resource: "forges", method: "list", show: ["forges"] }],
      seen: [{ forges: [] }],
    },
  ),
];
