import { z } from "zod";
import { eitherFields } from "./conditions.ts";
import { HarnessName } from "./harness.ts";
import { limits } from "./limits.ts";
import { PublishKind } from "./publish-policy.ts";
import { SandboxKind } from "./sandbox-kind.ts";
import { pattern, text, Uuid, VariableName } from "./text.ts";
import { PoolName, WorkerLabels } from "./worker-pool.ts";

const HttpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL" })
  .max(2_048)
  .superRefine((value, context) => {
    // Zod also calls this for values that are not valid URLs.
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.username || url?.password)
      context.addIssue("must not contain credentials; put them into `headers`");
  });

const serverShape = {
  command: text({ max: 1_024 })
    .optional()
    .meta({ description: "Command of a stdio server, which runs in the sandbox." }),
  args: z
    .array(text({ min: 0, max: 8_192 }))
    .max(100)
    .optional(),
  env: z
    .record(VariableName, text({ min: 0, max: 32_768 }))
    .optional()
    .meta({ description: "Values can contain `${secrets.NAME}`. Literal values are masked in responses." }),
  url: HttpUrl.optional().meta({ description: "URL of a streamable HTTP or SSE server." }),
  headers: z
    .record(
      pattern(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, "must be an HTTP header name"),
      text({ min: 0, max: 8_192 }),
    )
    .optional()
    .meta({ description: "Values can contain `${secrets.NAME}`. Literal values are masked in responses." }),
  startup_timeout_seconds: z.int().min(1).max(limits.mcpTimeoutSeconds.startup).optional().meta({
    description:
      "How long the server may take to start. Default 30, or 120 for programs such as `npx` that download packages.",
  }),
  call_timeout_seconds: z.int().min(1).max(limits.mcpTimeoutSeconds.call).optional().meta({
    description:
      "How long a call may take, counted from the last progress notification of the server. Default 120.",
  }),
};

function requireOneTransport(server: Record<string, unknown>, context: z.RefinementCtx) {
  const { command, url } = server;
  if ((command === undefined) === (url === undefined)) {
    context.addIssue("must have exactly one of `command` (stdio server) and `url` (HTTP server)");
    return;
  }
  const disallowed = command === undefined ? ["args", "env"] : ["headers"];
  for (const field of disallowed) {
    if (server[field] === undefined) continue;
    const required = command === undefined ? "command" : "url";
    context.addIssue({ code: "custom", path: [field], message: `is only allowed with \`${required}\`` });
  }
}

/** The rule of `requireOneTransport` as JSON Schema. */
const transportRule = eitherFields(
  { required: ["command"], optional: ["args", "env"] },
  { required: ["url"], optional: ["headers"] },
);

export const MCPServerConfig = z
  .strictObject(serverShape)
  .superRefine(requireOneTransport)
  .meta({
    id: "MCPServerConfig",
    description:
      "One MCP server: exactly one of `command` (with `args`, `env`) or `url` (with `headers`), and optional timeouts.",
    ...transportRule,
  });

const ServerName = pattern(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, `_` or `-`");

const NamedServer = z
  .strictObject({ name: ServerName, ...serverShape })
  .superRefine(requireOneTransport)
  .meta({
    id: "NamedMCPServerConfig",
    description: "An MCP server in an array, with its name.",
    ...transportRule,
  });

function maxServers(count: number) {
  return (servers: object, context: z.RefinementCtx) => {
    const found = Object.keys(servers).length;
    if (found > count) context.addIssue(`must have at most ${count} servers, but has ${found}`);
  };
}

const ServerMap = z
  .record(ServerName, MCPServerConfig)
  .superRefine(maxServers(limits.mcpServers))
  .meta({ maxProperties: limits.mcpServers });

const ServerList = z
  .array(NamedServer)
  .max(limits.mcpServers)
  .superRefine((servers, context) => {
    const seen = new Set<string>();
    servers.forEach(({ name }, index) => {
      if (seen.has(name))
        context.addIssue({ code: "custom", path: [index, "name"], message: "must be unique" });
      seen.add(name);
    });
  });

export const SkillSpecText = pattern(
  /^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9_.-]{1,100}:([A-Za-z0-9][A-Za-z0-9_-]{0,99}|(\.?[A-Za-z0-9_@-][A-Za-z0-9_.@-]{0,99}\/){0,16}SKILL\.md)$/,
  "must be `owner/repo:skill-name` or `owner/repo:path/to/SKILL.md`",
);

export const ReasoningEffort = z.enum(["none", "low", "medium", "high", "max"]).meta({
  id: "ReasoningEffort",
  description: "How much a model reasons before it answers.",
});
export type ReasoningEffort = z.infer<typeof ReasoningEffort>;

const members = {
  name: text({ max: limits.nameCharacters })
    .optional()
    .meta({
      description: "Label for grouping and filtering. Default: the name of the skill.",
      examples: ["nightly-tests"],
    }),
  model_id: text({ max: 128 })
    .optional()
    .meta({
      description:
        "A model or alias from `GET /agent/models`. Defaults to the model of the cloud agent, then of the installation.",
      examples: ["scripted"],
    }),
  reasoning_effort: ReasoningEffort.optional().meta({
    description:
      "How much the model reasons. Only for models with `supports_reasoning_effort`. Defaults to the effort of the cloud agent, then of the provider.",
  }),
  harness: HarnessName.optional().meta({
    description:
      "The agent program that executes the run, from `GET /agent/harnesses`. Defaults to that of the cloud agent, then of the environment, then `outrider`, the built-in agent.",
    examples: ["outrider"],
  }),
  base_prompt: text({ bytes: limits.prompt })
    .optional()
    .meta({ description: "Instructions that shape the agent's behavior." }),
  environment_id: Uuid.optional().meta({
    description: "The environment to run in. Without one: an empty workspace and no network.",
  }),
  skill_spec: SkillSpecText.optional().meta({
    description: "A skill to use as the base prompt.",
    examples: ["acme/skills:release-notes"],
  }),
  publish: PublishKind.optional().meta({
    description:
      "Publishes the changes when the run succeeds, within the policy of the environment's repositories. Default: as the policy says.",
  }),
  sandbox: SandboxKind.optional().meta({
    description:
      "The kind of sandbox that executes the run. Defaults to that of the environment, then to that of any worker.",
    examples: ["docker"],
  }),
  worker_host: PoolName.optional().meta({
    description:
      "The pool whose workers execute the run. Defaults to that of the environment, then `default`.",
    examples: ["gpu"],
  }),
  worker_selector: WorkerLabels.optional().meta({
    description:
      "Labels that the worker must have. Those of the environment are added, unless the run sets the same name.",
  }),
  idle_timeout_minutes: z
    .int()
    .min(0)
    .max(60)
    .optional()
    .meta({ description: "How long the sandbox is kept after the run ends. Default 10." }),
};

/** The configuration that callers send. `mcp_servers` can also be an array of named servers. */
export const AgentConfigInput = z
  .strictObject({
    ...members,
    mcp_servers: z
      .union([ServerMap, ServerList])
      .optional()
      .meta({ description: "MCP servers by name. An array of servers with a `name` is also accepted." }),
  })
  .meta({ id: "AmbientAgentConfigInput", description: "Configuration of a run. All fields are optional." });

/** A run's resolved configuration. */
export const AmbientAgentConfig = z
  .strictObject({
    ...members,
    mcp_servers: ServerMap.optional().meta({ description: "MCP servers by name." }),
  })
  .meta({
    id: "AmbientAgentConfig",
    description: "Configuration of a run. Runs contain the resolved configuration.",
  });

export type AgentConfigInput = z.infer<typeof AgentConfigInput>;
export type AmbientAgentConfig = z.infer<typeof AmbientAgentConfig>;
export type MCPServerConfig = z.infer<typeof MCPServerConfig>;

/** Converts either form of `mcp_servers` to a map, which is the stored form. */
export function serversByName(
  servers: NonNullable<AgentConfigInput["mcp_servers"]>,
): Record<string, MCPServerConfig> {
  if (!Array.isArray(servers)) return servers;
  return Object.fromEntries(servers.map(({ name, ...server }) => [name, server]));
}

/** Returns the skill's name for display. For a path, this is the name of the folder that contains SKILL.md. */
export function skillName(skillSpec: string): string {
  const [repository = "", skill = ""] = skillSpec.split(":");
  if (!skill.endsWith("SKILL.md")) return skill;
  return skill.split("/").at(-2) ?? repository.split("/")[1] ?? repository;
}

const secretReference = /\$\{secrets\.([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Returns the names in all `${secrets.NAME}` references in a text. */
export function findSecretNames(value: string): string[] {
  return [...value.matchAll(secretReference)].map((match) => match[1] as string);
}
