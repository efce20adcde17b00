import type { Behavior, Call } from "../behavior.ts";
import { succeeds } from "./success.ts";

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
const proposal: Call = {
  resource: "proposals",
  method: "create",
  body: { repository: { url: "file:///nowhere" } },
  save: "proposal",
};
const identity: Call = {
  resource: "identities",
  method: "create",
  body: { name: "agent-$unique.id" },
  save: "identity",
};
const user: Call = {
  resource: "users",
  method: "invite",
  body: { email: "p-$unique.id@example.com", display_name: "P" },
  save: "invitation",
};
const userUid = "$invitation.user.uid";
const secret = "SDK_TABLE";

/** Every operation on other resources, and calls by path. */
export const otherResources: Behavior[] = [
  succeeds(
    { ...environment, show: ["version", "setup_commands.0"] },
    { version: 1, "setup_commands.0": "echo ready" },
  ),
  succeeds(
    { resource: "environments", method: "list", show: ["environments.0.version"] },
    { "environments.0.version": 1 },
    { before: [environment] },
  ),
  succeeds(
    { resource: "environments", method: "get", args: ["$environment.environment_id"], show: ["version"] },
    { version: 1 },
    { before: [environment] },
  ),
  succeeds(
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
  succeeds(
    { resource: "environments", method: "delete", args: ["$environment.environment_id"], show: ["name"] },
    {},
    { before: [environment] },
  ),
  succeeds(
    { ...build, show: ["version"] },
    { version: 1 },
    {
      before: [environment],
      after: [{ ...builtUp, args: builtOf, show: ["missing"], collect: 1 }],
      seen: [[{}]],
    },
  ),
  succeeds(
    { resource: "builds", method: "list", args: ["$environment.environment_id"], show: ["builds.length"] },
    { "builds.length": 1 },
    { before: [environment, build, builtUp] },
  ),
  succeeds(
    { resource: "builds", method: "get", args: builtOf, show: ["state"] },
    { state: "READY" },
    { before: [environment, build, builtUp] },
  ),
  succeeds(
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
  succeeds({ ...builtUp, collect: 2, show: ["seq"] }, [{ seq: 1 }, { seq: 2 }], {
    before: [environment, build],
  }),
  succeeds({ ...proposal, show: ["state"] }, { state: "QUEUED" }),
  succeeds(
    { resource: "proposals", method: "get", args: ["$proposal.proposal_id"], show: ["commit"] },
    {},
    { before: [proposal] },
  ),
  succeeds(
    { resource: "secrets", method: "put", args: [secret], body: { value: "a long secret" }, show: ["name"] },
    { name: secret },
  ),
  succeeds({ resource: "secrets", method: "list", show: ["secrets.0.name"] }, { "secrets.0.name": secret }),
  succeeds({ resource: "secrets", method: "delete", args: [secret], show: ["name"] }, {}),
  succeeds(
    { resource: "models", method: "list", show: ["default_model_id"] },
    { default_model_id: "scripted" },
  ),
  succeeds(
    { resource: "harnesses", method: "list", show: ["harnesses.0.name", "harnesses.1.title"] },
    { "harnesses.0.name": "outrider", "harnesses.1.title": "Claude Code" },
  ),
  succeeds({ resource: "skills", method: "list", show: ["skills"] }, { skills: [] }),
  succeeds(
    { ...identity, show: ["description"], body: { name: "agent-$unique.id", description: "d" } },
    { description: "d" },
  ),
  succeeds({ resource: "agents", method: "list", show: ["agents"] }, { agents: [] }),
  succeeds(
    { resource: "identities", method: "list", show: ["agents.0.description"] },
    { "agents.0.description": "first by name" },
    { before: [{ ...identity, body: { name: "0-$unique.id", description: "first by name" } }] },
  ),
  succeeds(
    { resource: "identities", method: "get", args: ["$identity.uid"], show: ["missing"] },
    {},
    { before: [identity] },
  ),
  succeeds(
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
  succeeds(
    { resource: "identities", method: "delete", args: ["$identity.uid"], show: ["uid"] },
    {},
    { before: [identity] },
  ),
  succeeds(
    {
      resource: "keys",
      method: "create",
      body: { name: "made", type: "personal", scopes: ["runs:read"] },
      show: ["name", "scopes"],
    },
    { name: "made", scopes: ["runs:read"] },
  ),
  succeeds({ resource: "keys", method: "list", show: ["missing"] }, {}),
  succeeds(
    { resource: "keys", method: "delete", args: ["$key.key_id"], show: ["key_id"] },
    {},
    {
      before: [{ resource: "keys", method: "create", body: { name: "gone", type: "personal" }, save: "key" }],
    },
  ),
  succeeds(
    { resource: "workers", method: "list", show: ["workers.0.is_alive"], save: "list" },
    { "workers.0.is_alive": true },
  ),
  succeeds(
    { ...user, show: ["user.role", "user.has_password"] },
    { "user.role": "member", "user.has_password": false },
  ),
  succeeds(
    { resource: "users", method: "list", show: ["users.0.email"] },
    { "users.0.email": "admin@localhost" },
  ),
  succeeds(
    { resource: "users", method: "update", args: [userUid], body: { role: "admin" }, show: ["role"] },
    { role: "admin" },
    { before: [user] },
  ),
  succeeds({ resource: "users", method: "link", args: [userUid], show: ["user"] }, {}, { before: [user] }),
  succeeds({ resource: "users", method: "delete", args: [userUid], show: ["uid"] }, {}, { before: [user] }),
  succeeds({ resource: "me", method: "get", show: ["type", "role"] }, { type: "user", role: "admin" }),
  succeeds(
    {
      resource: "installation",
      method: "get",
      show: ["maintenance.admission", "has_free_space", "limits.max_attempts"],
    },
    { "maintenance.admission": "open", has_free_space: true, "limits.max_attempts": 3 },
  ),
  succeeds(
    { resource: "me", method: "get", raw: true, show: ["status", "headers.content-type"] },
    { status: 200, "headers.content-type": "application/json; charset=utf-8" },
  ),
  succeeds(
    { resource: "client", method: "get", args: ["/agent/models"], show: ["default_model_id"] },
    { default_model_id: "scripted" },
  ),
  succeeds(
    { resource: "client", method: "get", args: ["/agent/runs"], query: { limit: 1 }, show: ["runs.length"] },
    { "runs.length": 1 },
    { detail: "with a query" },
  ),
  succeeds(
    { resource: "client", method: "post", args: ["/agent/run"], body: { prompt: "SAY: x" }, show: ["state"] },
    { state: "QUEUED" },
  ),
  succeeds(
    {
      resource: "client",
      method: "put",
      args: ["/agent/secrets/SDK_OTHER"],
      body: { value: "a long secret" },
      show: ["name"],
    },
    { name: "SDK_OTHER" },
  ),
  succeeds({ resource: "client", method: "delete", args: ["/agent/secrets/SDK_OTHER"], show: ["name"] }, {}),
];
