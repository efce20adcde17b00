import { z } from "zod";
import { limits } from "./limits.ts";
import { pattern, text, Uuid, VariableName } from "./text.ts";

const HttpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https address" })
  .max(2_048)
  .superRefine((value, context) => {
    // Runs even where the address was found to be none.
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.username || url?.password)
      context.addIssue("must not hold credentials; put them into `headers`");
  });

const serverShape = {
  command: text({ max: 1_024 })
    .optional()
    .meta({ description: "Program of a stdio server, run in the sandbox." }),
  args: z
    .array(text({ min: 0, max: 8_192 }))
    .max(100)
    .optional(),
  env: z
    .record(VariableName, text({ min: 0, max: 32_768 }))
    .optional()
    .meta({ description: "Values may hold `${secrets.NAME}`. Literal values are masked on the run." }),
  url: HttpUrl.optional().meta({ description: "Address of a streamable HTTP or SSE server." }),
  headers: z
    .record(
      pattern(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, "must be an HTTP header name"),
      text({ min: 0, max: 8_192 }),
    )
    .optional()
    .meta({ description: "Values may hold `${secrets.NAME}`. Literal values are masked on the run." }),
};

function oneTransport(server: Record<string, unknown>, context: z.RefinementCtx) {
  const { command, url } = server;
  if ((command === undefined) === (url === undefined)) {
    context.addIssue("needs exactly one of `command` (a stdio server) and `url` (an HTTP server)");
    return;
  }
  const strangers = command === undefined ? ["args", "env"] : ["headers"];
  for (const member of strangers) {
    if (server[member] === undefined) continue;
    const owner = command === undefined ? "command" : "url";
    context.addIssue({ code: "custom", path: [member], message: `goes with \`${owner}\` only` });
  }
}

const oneOf = [
  { required: ["command"], properties: { url: false, headers: false } },
  { required: ["url"], properties: { command: false, args: false, env: false } },
];

export const MCPServerConfig = z.strictObject(serverShape).superRefine(oneTransport).meta({
  id: "MCPServerConfig",
  description: "One MCP server: exactly one of `command` (with `args`, `env`) or `url` (with `headers`).",
  oneOf,
});

const ServerName = pattern(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, `_` or `-`");

const NamedServer = z
  .strictObject({ name: ServerName, ...serverShape })
  .superRefine(oneTransport)
  .meta({ id: "NamedMCPServerConfig", description: "An MCP server as an item of an array.", oneOf });

function atMost(count: number) {
  return (servers: object, context: z.RefinementCtx) => {
    const found = Object.keys(servers).length;
    if (found > count) context.addIssue(`has ${found} servers; at most ${count} are allowed`);
  };
}

const ServerMap = z
  .record(ServerName, MCPServerConfig)
  .superRefine(atMost(limits.mcpServers))
  .meta({ maxProperties: limits.mcpServers });

const ServerList = z
  .array(NamedServer)
  .max(limits.mcpServers)
  .superRefine((servers, context) => {
    const seen = new Set<string>();
    servers.forEach(({ name }, index) => {
      if (seen.has(name))
        context.addIssue({ code: "custom", path: [index, "name"], message: "is used twice" });
      seen.add(name);
    });
  });

export const SkillSpecText = pattern(
  /^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9_.-]{1,100}:([A-Za-z0-9][A-Za-z0-9_-]{0,99}|(\.?[A-Za-z0-9_@-][A-Za-z0-9_.@-]{0,99}\/){0,16}SKILL\.md)$/,
  "must be `owner/repo:skill-name` or `owner/repo:path/to/SKILL.md`",
);

const members = {
  name: text({ max: 128 })
    .optional()
    .meta({
      description: "Label for grouping and filtering. With a skill and no name: the skill's name.",
      examples: ["nightly-tests"],
    }),
  model_id: text({ max: 128 })
    .optional()
    .meta({
      description:
        "A model or alias of `GET /agent/models`; else the cloud agent's, else the installation's default.",
      examples: ["scripted"],
    }),
  base_prompt: text({ bytes: limits.prompt })
    .optional()
    .meta({ description: "Shapes the agent's behaviour." }),
  environment_id: Uuid.optional().meta({
    description: "The environment to run in. None: an empty workspace without network.",
  }),
  skill_spec: SkillSpecText.optional().meta({
    description: "A skill as the base prompt.",
    examples: ["acme/skills:release-notes"],
  }),
  idle_timeout_minutes: z
    .int()
    .min(0)
    .max(60)
    .optional()
    .meta({ description: "How long a finished run's sandbox is kept. Default 10." }),
};

/** What a caller may send: MCP servers also as an array of named servers, which is stored as the map. */
export const AgentConfigInput = z
  .strictObject({
    ...members,
    mcp_servers: z
      .union([ServerMap, ServerList])
      .optional()
      .meta({ description: "MCP servers by name; an array of the same with `name` is accepted too." }),
  })
  .meta({ id: "AmbientAgentConfigInput", description: "How a run executes. All members are optional." });

/** What a run carries: the resolved configuration. */
export const AmbientAgentConfig = z
  .strictObject({
    ...members,
    mcp_servers: ServerMap.optional().meta({ description: "MCP servers by name." }),
  })
  .meta({ id: "AmbientAgentConfig", description: "How a run executes. On a run: as resolved." });

export type AgentConfigInput = z.infer<typeof AgentConfigInput>;
export type AmbientAgentConfig = z.infer<typeof AmbientAgentConfig>;
export type MCPServerConfig = z.infer<typeof MCPServerConfig>;

/** Both accepted forms of `mcp_servers` as the one that is stored. */
export function serversByName(
  servers: NonNullable<AgentConfigInput["mcp_servers"]>,
): Record<string, MCPServerConfig> {
  if (!Array.isArray(servers)) return servers;
  return Object.fromEntries(servers.map(({ name, ...server }) => [name, server]));
}

/** The label that a skill gives to a run: its name, or for a path the folder that holds SKILL.md. */
export function skillName(skillSpec: string): string {
  const [repository = "", skill = ""] = skillSpec.split(":");
  if (!skill.endsWith("SKILL.md")) return skill;
  return skill.split("/").at(-2) ?? repository.split("/")[1] ?? repository;
}

const secretReference = /\$\{secrets\.([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The names in every `${secrets.NAME}` of a text. */
export function secretsNamedIn(value: string): string[] {
  return [...value.matchAll(secretReference)].map((match) => match[1] as string);
}
