import type { Behaviour, Call } from "../behaviour.ts";
import { works } from "./works.ts";

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
const person: Call = {
  resource: "people",
  method: "invite",
  body: { email: "p-$unique.id@example.com", display_name: "P" },
  save: "invitation",
};
const personUid = "$invitation.person.uid";
const secret = "SDK_TABLE";

/** Every operation on what is around runs, and paths of one's own. */
export const aroundRuns: Behaviour[] = [
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
  works({ resource: "skills", method: "list", show: ["skills"] }, { skills: [] }),
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
  works(
    { ...person, show: ["person.role", "person.has_password"] },
    { "person.role": "member", "person.has_password": false },
  ),
  works(
    { resource: "people", method: "list", show: ["people.0.email"] },
    { "people.0.email": "admin@localhost" },
  ),
  works(
    { resource: "people", method: "update", args: [personUid], body: { role: "admin" }, show: ["role"] },
    { role: "admin" },
    { before: [person] },
  ),
  works(
    { resource: "people", method: "link", args: [personUid], show: ["person"] },
    {},
    { before: [person] },
  ),
  works({ resource: "people", method: "delete", args: [personUid], show: ["uid"] }, {}, { before: [person] }),
  works({ resource: "me", method: "get", show: ["type", "role"] }, { type: "user", role: "admin" }),
  works(
    { resource: "installation", method: "get", show: ["brake.intake", "has_room", "limits.max_attempts"] },
    { "brake.intake": "open", has_room: true, "limits.max_attempts": 3 },
  ),
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
];
