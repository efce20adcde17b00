import { type BadRequest, create, type Expected, invalid, refusedAs } from "./case.ts";
import type { Fixture } from "./fixture.ts";

const configured = (config: object) => create({ prompt: "SAY: hello", config });
const nobody = "01890000-0000-7000-8000-000000000000";

const wrongKinds: [member: string, value: unknown, says: string][] = [
  ["name", 5, "must be a string"],
  ["name", "", "must not be empty"],
  ["name", "n".repeat(129), "must have at most 128 characters, but has 129"],
  ["model_id", 5, "must be a string"],
  ["base_prompt", {}, "must be a string"],
  ["base_prompt", "x".repeat(262_145), "must have at most 262144 bytes, but has 262145"],
  ["environment_id", 5, "must be a string"],
  ["environment_id", "production", "must be a UUID"],
  ["skill_spec", 5, "must be a string"],
  ["mcp_servers", "github", "must be an object"],
  ["idle_timeout_minutes", "5", "must be a number"],
  ["idle_timeout_minutes", -1, "must be at least 0"],
  ["idle_timeout_minutes", 61, "must be at most 60"],
  ["idle_timeout_minutes", 1.5, "must be an integer"],
];

const badSkills = [
  "release-notes",
  "acme:release-notes",
  "acme/skills",
  "acme/skills:",
  "acme/skills/release-notes",
  "acme/skills:release notes",
  "acme/skills:../SKILL.md",
  "acme/skills:a/../SKILL.md",
  "acme/skills:/SKILL.md",
  "acme/skills:docs/README.md",
  "https://github.com/acme/skills:release-notes",
  "acme/skills:release-notes\n",
];

const server = (config: object) => configured({ mcp_servers: { github: config } });
const many = (count: number) => Array.from({ length: count }, (_, index) => `server${index}`);

const mcpServers: [name: string, config: object, expected: Expected][] = [
  [
    "an MCP server with command and url",
    { command: "gh", url: "https://example.com" },
    { says: "exactly one of" },
  ],
  ["an MCP server with neither command nor url", {}, { says: "exactly one of" }],
  [
    "env with a url",
    { url: "https://example.com", env: { A: "b" } },
    { pointer: "/env", says: "only allowed with `command`" },
  ],
  [
    "args with a url",
    { url: "https://example.com", args: ["-v"] },
    { pointer: "/args", says: "only allowed with `command`" },
  ],
  [
    "headers with a command",
    { command: "gh", headers: { A: "b" } },
    { pointer: "/headers", says: "only allowed with `url`" },
  ],
  [
    "credentials in a url",
    { url: "https://me:pass@example.com/mcp" },
    { pointer: "/url", says: "must not contain credentials" },
  ],
  [
    "a user in a url",
    { url: "https://me@example.com/mcp" },
    { pointer: "/url", says: "must not contain credentials" },
  ],
  ["a url that is none", { url: "not a url" }, { pointer: "/url", says: "must be an http or https URL" }],
  ["a file as url", { url: "file:///etc/passwd" }, { pointer: "/url", says: "must be an http or https URL" }],
  ["an empty command", { command: "" }, { pointer: "/command", says: "must not be empty" }],
  ["a number as command", { command: 5 }, { pointer: "/command", says: "must be a string" }],
  ["args as text", { command: "gh", args: "-v" }, { pointer: "/args", says: "must be an array" }],
  ["a number in args", { command: "gh", args: [5] }, { pointer: "/args/0", says: "must be a string" }],
  ["a variable that no shell takes", { command: "gh", env: { "A-B": "c" } }, { pointer: "/env/A-B" }],
  ["a number as variable", { command: "gh", env: { A: 5 } }, { pointer: "/env/A", says: "must be a string" }],
  [
    "a header name with a space",
    { url: "https://example.com", headers: { "a b": "c" } },
    { pointer: "/headers/a b" },
  ],
  [
    "an unknown member of an MCP server",
    { comand: "gh" },
    { pointer: "/comand", says: "did you mean `command`?" },
  ],
];

const manyServers: BadRequest[] = [
  invalid("a server name with a dot", configured({ mcp_servers: { "a.b": { command: "x" } } }), {
    pointer: "/config/mcp_servers/a.b",
    says: "must be 1 to 64 letters",
  }),
  invalid("a server without a name in a list", configured({ mcp_servers: [{ command: "x" }] }), {
    pointer: "/config/mcp_servers/0/name",
    says: "is required",
  }),
  invalid(
    "one server name twice in a list",
    configured({
      mcp_servers: [
        { name: "a", command: "x" },
        { name: "a", command: "y" },
      ],
    }),
    { pointer: "/config/mcp_servers/1/name", says: "must be unique" },
  ),
  invalid(
    "21 servers in a map",
    configured({ mcp_servers: Object.fromEntries(many(21).map((name) => [name, { command: "x" }])) }),
    { pointer: "/config/mcp_servers", says: "must have at most 20 servers, but has 21" },
  ),
  invalid(
    "21 servers in a list",
    configured({ mcp_servers: many(21).map((name) => ({ name, command: "x" })) }),
    { pointer: "/config/mcp_servers", says: "at most 20" },
  ),
  invalid("two bad servers in a map", configured({ mcp_servers: { a: { command: 1 }, b: { command: 2 } } }), {
    pointer: "/config/mcp_servers/b/command",
    says: "must be a string (and 1 more)",
  }),
  invalid(
    "two bad servers in a list",
    configured({ mcp_servers: [{ name: "a" }, { name: "b", command: "x", url: "https://example.com" }] }),
    { pointer: "/config/mcp_servers/1", says: "exactly one of" },
  ),
];

const foreignSecret =
  (environment: (fixture: Fixture) => string | undefined, transport: object) => (fixture: Fixture) => {
    const environment_id = environment(fixture);
    const mcp_servers = { github: transport };
    return configured({ ...(environment_id ? { environment_id } : {}), mcp_servers });
  };

const secretInHeader = {
  url: "https://example.com",
  headers: { authorization: "Bearer ${secrets.OTHER_TOKEN}" },
};
const secretInVariable = { command: "gh", env: { TOKEN: "${secrets.DEPLOY_TOKEN}" } };
const notAllowed = refusedAs("not_authorized");

const references: BadRequest[] = [
  notAllowed(
    "a secret that the environment was not given",
    foreignSecret(({ environment }) => environment.usable, secretInHeader),
    { pointer: "/config/mcp_servers/github/headers/authorization", says: "`OTHER_TOKEN`" },
  ),
  notAllowed(
    "a secret without an environment",
    foreignSecret(() => undefined, secretInVariable),
    { pointer: "/config/mcp_servers/github/env/TOKEN", says: "`DEPLOY_TOKEN`" },
  ),
  notAllowed(
    "an environment that the key is not limited to",
    ({ environment, key }) => ({ ...configured({ environment_id: environment.other }), key: key.limited }),
    { pointer: "/config/environment_id", says: "limited to" },
  ),
  invalid("an unknown environment", configured({ environment_id: nobody }), {
    pointer: "/config/environment_id",
    says: "must be the ID of an existing environment",
  }),
  invalid("a deleted environment", ({ environment }) => configured({ environment_id: environment.deleted }), {
    pointer: "/config/environment_id",
    says: "must be the ID of an existing environment",
  }),
  refusedAs("model_not_available")("an unknown model", configured({ model_id: "gpt-2" }), {
    pointer: "/config/model_id",
    says: "available: `scripted`",
  }),
];

const unknownMembers: BadRequest[] = [
  invalid("an unknown member of the configuration", configured({ temperature: 1 }), {
    pointer: "/config/temperature",
    says: "is unknown",
  }),
  invalid("a misspelt member of the configuration", configured({ modelid: "scripted" }), {
    pointer: "/config/modelid",
    says: "did you mean `model_id`?",
  }),
  invalid("a harness that does not exist", configured({ harness: "cobol" }), {
    pointer: "/config/harness",
    says: "is not a harness of this installation; available: `outrider`, `claude`",
  }),
  ...["kubernete", "Docker", "auto", ""].map((sandbox) =>
    invalid(`the kind of sandbox ${JSON.stringify(sandbox)}`, configured({ sandbox }), {
      pointer: "/config/sandbox",
      says: "must be one of `local`, `docker`",
    }),
  ),
  invalid("a pool whose name has a space", configured({ worker_host: "big machines" }), {
    pointer: "/config/worker_host",
    says: "must be 1 to 63 letters, digits",
  }),
  invalid("a label with an empty value", configured({ worker_selector: { gpu: "" } }), {
    pointer: "/config/worker_selector/gpu",
    says: "must be a label value",
  }),
  invalid("a label whose name has a space", configured({ worker_selector: { "a b": "c" } }), {
    pointer: "/config/worker_selector/a b",
    says: "must be a label name",
  }),
  invalid(
    "more than 32 labels",
    configured({ worker_selector: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`l${i}`, "x"])) }),
    { pointer: "/config/worker_selector", says: "must have at most 32 labels, but has 33" },
  ),
];

export const configCases: BadRequest[] = [
  ...wrongKinds.map(([member, value, says]) =>
    invalid(
      `${JSON.stringify(value).slice(0, 20)} as \`config.${member}\``,
      configured({ [member]: value }),
      {
        pointer: `/config/${member}`,
        says,
      },
    ),
  ),
  ...badSkills.map((skill_spec) =>
    invalid(`the skill ${JSON.stringify(skill_spec)}`, configured({ skill_spec }), {
      pointer: "/config/skill_spec",
      says: "must be `owner/repo:skill-name` or `owner/repo:path/to/SKILL.md`",
    }),
  ),
  ...mcpServers.map(([name, config, { pointer = "", says }]) =>
    invalid(name, server(config), {
      pointer: `/config/mcp_servers/github${pointer}`,
      ...(says ? { says } : {}),
    }),
  ),
  ...manyServers,
  ...references,
  ...unknownMembers,
];
