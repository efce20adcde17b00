import { type BadRequest, type Expected, invalid, refusedAs } from "./case.ts";

const notAllowed = refusedAs("not_authorized");
const conflict = refusedAs("conflict");
const nobody = "01890000-0000-7000-8000-000000000000";

const key = (members: object) => ({
  method: "POST",
  path: "/keys",
  body: { name: "test", type: "personal", ...members },
});

const keys: BadRequest[] = [
  invalid("an agent key without an agent", key({ type: "agent" }), {
    pointer: "/agent_uid",
    says: "is required",
  }),
  invalid("a personal key with an agent", key({ agent_uid: nobody }), {
    pointer: "/agent_uid",
    says: "is only allowed for type `agent`",
  }),
  invalid("a key of an unknown agent", key({ type: "agent", agent_uid: nobody }), {
    pointer: "/agent_uid",
    says: "must be the ID of an existing cloud agent",
  }),
  invalid(
    "a key of a deleted agent",
    ({ cloudAgent }) => key({ type: "agent", agent_uid: cloudAgent.deleted }),
    {
      pointer: "/agent_uid",
    },
  ),
  notAllowed(
    "a key of somebody else's agent",
    ({ cloudAgent, key: { other } }) => ({
      ...key({ type: "agent", agent_uid: cloudAgent.usable }),
      key: other,
    }),
    { pointer: "/agent_uid" },
  ),
  invalid("a key without scopes", key({ scopes: [] }), { pointer: "/scopes", says: "must have at least 1" }),
  invalid("a scope twice", key({ scopes: ["runs:read", "runs:read"] }), {
    pointer: "/scopes",
    says: "must not contain duplicates",
  }),
  invalid("an unknown scope", key({ scopes: ["runs:delete"] }), { pointer: "/scopes/0" }),
  invalid(
    "an agent key with `admin`",
    ({ cloudAgent }) => key({ type: "agent", agent_uid: cloudAgent.usable, scopes: ["admin"] }),
    { pointer: "/scopes", says: "must not contain `admin`" },
  ),
  invalid("a worker key with scopes", key({ type: "worker", scopes: ["runs:read"] }), { pointer: "/scopes" }),
  invalid("a worker key with limits", key({ type: "worker", limits: {} }), { pointer: "/limits" }),
  notAllowed(
    "a scope that the caller lacks",
    ({ key: { writer } }) => ({ ...key({ scopes: ["admin"] }), key: writer }),
    {
      pointer: "/scopes",
      says: "`admin`",
    },
  ),
  notAllowed(
    "`admin` for a member",
    ({ key: { member } }) => ({ ...key({ scopes: ["admin"] }), key: member }),
    {
      pointer: "/scopes",
    },
  ),
  invalid("an expiry in the past", key({ expires_at: "2020-01-01T00:00:00Z" }), {
    pointer: "/expires_at",
    says: "must be in the future",
  }),
  invalid("an expiry in the year 10000", key({ expires_at: "9999-12-31T23:59:59-01:00" }), {
    pointer: "/expires_at",
    says: "is out of range",
  }),
  invalid("an expiry in the year 10000, written out", key({ expires_at: "+010000-01-01T00:00:00Z" }), {
    pointer: "/expires_at",
  }),
  invalid("an expiry that is a date", key({ expires_at: "2100-01-01" }), {
    pointer: "/expires_at",
    says: "must be a timestamp such as",
  }),
  invalid("an expiry that is a number", key({ expires_at: 4_102_444_800 }), { pointer: "/expires_at" }),
  notAllowed(
    "an expiry behind the caller's own",
    ({ key: { expiring } }) => ({ ...key({ expires_at: "2100-01-01T00:00:01Z" }), key: expiring }),
    { pointer: "/expires_at", says: "must not be later than the expiry of the calling key" },
  ),
  invalid("an unknown kind of key", key({ type: "root" }), { pointer: "/type" }),
  invalid(
    "a key without a name",
    { method: "POST", path: "/keys", body: { type: "personal" } },
    { pointer: "/name" },
  ),
  invalid("a key with an empty name", key({ name: "" }), { pointer: "/name" }),
  invalid("a key for no runs at once", key({ limits: { max_concurrent_runs: 0 } }), {
    pointer: "/limits/max_concurrent_runs",
  }),
  invalid("a key for an unknown environment", key({ limits: { environment_ids: [nobody] } }), {
    pointer: "/limits/environment_ids/0",
    says: "must be the ID of an existing environment",
  }),
];

const secret = (name: string, value: unknown) => ({
  method: "PUT",
  path: `/agent/secrets/${name}`,
  body: { value },
});

const secrets: BadRequest[] = [
  invalid("a secret of 7 bytes", secret("TOKEN", "1234567"), { pointer: "/value", says: "at least 8 bytes" }),
  invalid("an empty secret", secret("TOKEN", ""), { pointer: "/value", says: "at least 8 bytes" }),
  invalid("a number as a secret", secret("TOKEN", 12_345_678), {
    pointer: "/value",
    says: "must be a string",
  }),
  invalid("a secret of 64 KiB and a byte", secret("TOKEN", "x".repeat(65_537)), { pointer: "/value" }),
  invalid(
    "a secret without a value",
    { method: "PUT", path: "/agent/secrets/TOKEN", body: {} },
    {
      pointer: "/value",
      says: "is required",
    },
  ),
  invalid("a secret's name with a hyphen", secret("MY-TOKEN", "long enough"), {
    pointer: "name",
    says: "must be a variable name",
  }),
  invalid("a secret's name that begins with a digit", secret("1TOKEN", "long enough"), { pointer: "name" }),
  invalid("a secret's name of 129 characters", secret("T".repeat(129), "long enough"), { pointer: "name" }),
  conflict(
    "deleting a secret that is used",
    { method: "DELETE", path: "/agent/secrets/DEPLOY_TOKEN" },
    {
      says: "used by: usable",
    },
  ),
];

const environment = (members: object) => ({
  method: "POST",
  path: "/agent/environments",
  body: { name: "test", ...members },
});
const repository = (repo: object) => environment({ repos: [repo] });

const environments: [name: string, members: object, expected: Expected][] = [
  ["an environment with an empty name", { name: "" }, { pointer: "/name" }],
  [
    "an image that is no reference",
    { docker_image: "https://ghcr.io/acme/ci" },
    {
      pointer: "/docker_image",
      says: "must be an image such as `debian:12` or `ghcr.io/acme/ci@sha256:…`",
    },
  ],
  [
    "a user without an image",
    { user: "node" },
    { pointer: "/user", says: "is only allowed with `docker_image`, `devcontainer` or `dockerfile`" },
  ],
  [
    "a registry's secret that does not exist",
    { docker_image: "debian", docker_image_secret: "NOPE" },
    { pointer: "/docker_image_secret" },
  ],
  ["`dockerfile`, which comes later", { dockerfile: "Dockerfile" }, { pointer: "/dockerfile" }],
  [
    "a devcontainer outside the repository",
    { repos: [{ owner: "a", repo: "b" }], devcontainer: "../devcontainer.json" },
    { pointer: "/devcontainer", says: "must be the relative path of a file in the first repository" },
  ],
  [
    "a devcontainer and an image",
    { repos: [{ owner: "a", repo: "b" }], devcontainer: ".devcontainer.json", docker_image: "node:24" },
    { pointer: "/devcontainer", says: "is not allowed with `docker_image`" },
  ],
  [
    "a Dockerfile and an image",
    { repos: [{ owner: "a", repo: "b" }], dockerfile: { path: "Dockerfile" }, docker_image: "node:24" },
    { pointer: "/dockerfile", says: "is not allowed with `docker_image`" },
  ],
  [
    "a Dockerfile and a devcontainer",
    {
      repos: [{ owner: "a", repo: "b" }],
      ...{ dockerfile: { path: "Dockerfile" }, devcontainer: ".devcontainer.json" },
    },
    { pointer: "/dockerfile", says: "is not allowed with `devcontainer`" },
  ],
  [
    "a Dockerfile outside the repository",
    { repos: [{ owner: "a", repo: "b" }], dockerfile: { path: "a/../../Dockerfile" } },
    { pointer: "/dockerfile/path", says: "must be the relative path of a file in the first repository" },
  ],
  [
    "a Dockerfile without a repository",
    { dockerfile: { path: "Dockerfile" } },
    { pointer: "/dockerfile", says: "is only allowed with a repository" },
  ],
  [
    "a devcontainer without a repository",
    { devcontainer: ".devcontainer.json" },
    { pointer: "/devcontainer", says: "is only allowed with a repository" },
  ],
  ["an unknown member of an environment", { setup: [] }, { pointer: "/setup", says: "is unknown" }],
  ["one setup command as text", { setup_commands: "npm ci" }, { pointer: "/setup_commands" }],
  [
    "an unknown kind of sandbox",
    { sandbox: "vm" },
    { pointer: "/sandbox", says: "must be one of `local`, `docker`, `kubernetes`" },
  ],
  ["an empty setup command", { setup_commands: ["npm ci", ""] }, { pointer: "/setup_commands/1" }],
  ["one start command as text", { start_commands: "postgres &" }, { pointer: "/start_commands" }],
  ["an empty start command", { start_commands: ["redis &", ""] }, { pointer: "/start_commands/1" }],
  [
    "51 start commands",
    { start_commands: Array.from({ length: 51 }, () => "true") },
    { pointer: "/start_commands", says: "at most 50" },
  ],
  ["a check without globs", { checks: [{ command: "tsc" }] }, { pointer: "/checks/0/globs" }],
  ["a variable that no shell takes", { variables: { "MY-VAR": "x" } }, { pointer: "/variables/MY-VAR" }],
  ["a number as a variable", { variables: { A: 5 } }, { pointer: "/variables/A", says: "must be a string" }],
  [
    "a domain that may be reached without an allowlist",
    { network: { mode: "none", allow: ["a.com"] } },
    {
      pointer: "/network/allow",
      says: "only allowed with mode `allowlist`",
    },
  ],
  [
    "a domain in an open network",
    { network: { mode: "open", allow: ["a.com"] } },
    { pointer: "/network/allow" },
  ],
  ["an unknown network mode", { network: { mode: "all" } }, { pointer: "/network/mode" }],
  [
    "an address in place of a domain",
    { network: { mode: "allowlist", allow: ["https://a.com"] } },
    {
      pointer: "/network/allow/0",
      says: 'must be a domain without a scheme and path, not "https://a.com"',
    },
  ],
  [
    "an unknown preset",
    { network: { mode: "allowlist", allow: ["a.com", "preset:gem"] } },
    {
      pointer: "/network/allow/1",
      says: '`preset:git`, not "preset:gem"',
    },
  ],
  [
    "a port that does not exist",
    { network: { mode: "allowlist", allow: ["db.internal:70000"] } },
    {
      pointer: "/network/allow/0",
      says: 'must have a port between 1 and 65535, not "db.internal:70000"',
    },
  ],
  [
    "an entry that is no host",
    { network: { mode: "allowlist", allow: ["a b"] } },
    {
      pointer: "/network/allow/0",
      says: "must be a domain such as",
    },
  ],
  ["no memory", { resources: { memory_mb: 0 } }, { pointer: "/resources/memory_mb" }],
  ["an unknown resource", { resources: { gpus: 1 } }, { pointer: "/resources/gpus" }],
  ["an author without an address", { git_author: { name: "Ada" } }, { pointer: "/git_author/email" }],
  [
    "an author with angle brackets",
    { git_author: { name: "Ada <ada>", email: "ada@example.com" } },
    { pointer: "/git_author/name" },
  ],
  ["no time in an environment", { timeout_minutes: 0 }, { pointer: "/timeout_minutes" }],
  [
    "a secret that does not exist",
    { secrets: ["DEPLOY_TOKEN", "NOBODY"] },
    {
      pointer: "/secrets/1",
      says: "does not name a secret",
    },
  ],
  [
    "a secret twice",
    { secrets: ["DEPLOY_TOKEN", "DEPLOY_TOKEN"] },
    { pointer: "/secrets", says: "must not contain duplicates" },
  ],
  [
    "a name for a variable and a secret",
    { secrets: ["DEPLOY_TOKEN"], variables: { DEPLOY_TOKEN: "x" } },
    {
      pointer: "/secrets/0",
      says: "must not also be the name of a variable",
    },
  ],
  [
    "a build secret that does not exist",
    { build_secrets: ["DEPLOY_TOKEN", "NOBODY"] },
    { pointer: "/build_secrets/1", says: "does not name a secret" },
  ],
  [
    "a build secret twice",
    { build_secrets: ["DEPLOY_TOKEN", "DEPLOY_TOKEN"] },
    { pointer: "/build_secrets", says: "must not contain duplicates" },
  ],
  [
    "a name for a variable and a build secret",
    { build_secrets: ["DEPLOY_TOKEN"], variables: { DEPLOY_TOKEN: "x" } },
    { pointer: "/build_secrets/0", says: "must not also be the name of a variable" },
  ],
  [
    "21 repositories",
    { repos: Array.from({ length: 21 }, () => ({ owner: "a", repo: "b" })) },
    { pointer: "/repos" },
  ],
];

const repositories: [name: string, repo: object, expected: Expected][] = [
  ["a repository by url and owner", { url: "https://github.com/acme/api", owner: "acme" }, { pointer: "" }],
  ["a repository by url, owner and name", { url: "https://a.com/b", owner: "a", repo: "b" }, { pointer: "" }],
  [
    "a repository by owner alone",
    { owner: "acme" },
    { pointer: "", says: "must have either `url`, or `owner`" },
  ],
  ["a repository by nothing", { ref: "main" }, { pointer: "" }],
  ["a repository with a password", { url: "https://me:pass@github.com/acme/api" }, { pointer: "/url" }],
  [
    "a repository with a token",
    { url: "https://ghp_x@github.com/acme/api" },
    {
      pointer: "/url",
      says: "must not contain credentials",
    },
  ],
  [
    "a repository with a password over ssh",
    { url: "ssh://git:pass@github.com/acme/api" },
    {
      pointer: "/url",
      says: "must not contain credentials",
    },
  ],
  [
    "a repository in the clear",
    { url: "http://github.com/acme/api" },
    { pointer: "/url", says: "https or ssh" },
  ],
  ["a repository by a bare path", { url: "/etc" }, { pointer: "/url", says: "https or ssh" }],
  ["a repository by a command", { url: "ext::sh -c whoami" }, { pointer: "/url" }],
  ["an owner with a slash", { owner: "acme/api", repo: "api" }, { pointer: "/owner" }],
  ["a path that climbs", { owner: "a", repo: "b", path: "../b" }, { pointer: "/path" }],
  ["a path that climbs later", { owner: "a", repo: "b", path: "c/../../b" }, { pointer: "/path" }],
  ["a path from the root", { owner: "a", repo: "b", path: "/b" }, { pointer: "/path" }],
  ["a ref that reads as an option", { owner: "a", repo: "b", ref: "--upload-pack=x" }, { pointer: "/ref" }],
  ["an unknown member of a repository", { owner: "a", repo: "b", branch: "main" }, { pointer: "/branch" }],
];

const replaced: BadRequest[] = [
  invalid(
    "replacing an environment by nothing",
    ({ environment: { usable } }) => ({ method: "PUT", path: `/agent/environments/${usable}`, body: {} }),
    { pointer: "/name", says: "is required" },
  ),
  refusedAs("resource_not_found")("replacing an unknown environment", {
    method: "PUT",
    path: `/agent/environments/${nobody}`,
    body: { name: "new" },
  }),
];

const bot = (members: object) => ({
  method: "POST",
  path: "/agent/identities",
  body: { name: "bot", ...members },
});

const cloudAgents: BadRequest[] = [
  invalid(
    "a cloud agent without a name",
    { method: "POST", path: "/agent/identities", body: {} },
    {
      pointer: "/name",
    },
  ),
  invalid("a cloud agent in an unknown environment", bot({ environment_id: nobody }), {
    pointer: "/environment_id",
  }),
  invalid("a cloud agent with an unknown member", bot({ owner_uid: nobody }), { pointer: "/owner_uid" }),
  refusedAs("model_not_available")("a cloud agent with an unknown model", bot({ model_id: "gpt-2" }), {
    pointer: "/model_id",
  }),
];

export const resourceCases: BadRequest[] = [
  ...keys,
  ...secrets,
  ...environments.map(([name, members, expected]) => invalid(name, environment(members), expected)),
  ...repositories.map(([name, repo, { pointer, says }]) =>
    invalid(name, repository(repo), { pointer: `/repos/0${pointer}`, ...(says ? { says } : {}) }),
  ),
  ...replaced,
  ...cloudAgents,
];
