import { z } from "zod";
import { pattern } from "./text.ts";

/*
 * A harness executes the turns of a run. `outrider` is the built-in agent loop. All others are agent programs that run in
 * the sandbox and speak ACP, the Agent Client Protocol. They call models through the worker's gateway, which passes
 * requests on in the provider's own wire format and does not translate between formats.
 */

export const wireFormats = ["anthropic-messages", "openai-responses", "openai-chat", "gemini"] as const;

export const WireFormat = z.enum(wireFormats).meta({
  id: "WireFormat",
  description: "The format of requests to a model provider.",
});
export type WireFormat = z.infer<typeof WireFormat>;

export const HarnessName = pattern(
  /^[a-z][a-z0-9-]{0,31}$/,
  "must be 1 to 32 lower-case letters, digits or `-`, starting with a letter",
);

export interface HarnessFacts {
  title: string;
  /** In order of preference. A run uses the first one that the model's provider speaks. */
  wire_formats: readonly WireFormat[];
  supports_mcp_servers: boolean;
  supports_reasoning_effort: boolean;
}

/** The harnesses that Outrider knows. Operators can declare others in `harnesses.json`. */
export const harnessFacts = {
  /** Works with every model, also with those whose provider speaks none of these formats. */
  outrider: {
    title: "Outrider",
    wire_formats: wireFormats,
    supports_mcp_servers: true,
    supports_reasoning_effort: true,
  },
  claude: {
    title: "Claude Code",
    wire_formats: ["anthropic-messages"],
    supports_mcp_servers: true,
    supports_reasoning_effort: true,
  },
  codex: {
    title: "Codex",
    wire_formats: ["openai-responses"],
    supports_mcp_servers: true,
    supports_reasoning_effort: true,
  },
  opencode: {
    title: "OpenCode",
    wire_formats: ["anthropic-messages", "openai-responses", "openai-chat", "gemini"],
    supports_mcp_servers: true,
    supports_reasoning_effort: false,
  },
  gemini: {
    title: "Gemini CLI",
    wire_formats: ["gemini"],
    supports_mcp_servers: true,
    supports_reasoning_effort: false,
  },
  qwen: {
    title: "Qwen Code",
    wire_formats: ["openai-chat"],
    supports_mcp_servers: true,
    supports_reasoning_effort: false,
  },
  pi: {
    title: "Pi",
    wire_formats: ["anthropic-messages", "openai-responses", "openai-chat", "gemini"],
    supports_mcp_servers: false,
    supports_reasoning_effort: false,
  },
} as const satisfies Record<string, HarnessFacts>;

export type KnownHarness = keyof typeof harnessFacts;

/** The wire formats of each type of provider. */
const formatsOfProviders: Record<string, readonly WireFormat[]> = {
  anthropic: ["anthropic-messages"],
  openai: ["openai-responses", "openai-chat"],
  azure: ["openai-responses", "openai-chat"],
  google: ["gemini"],
  "google-vertex": ["gemini"],
  "amazon-bedrock": [],
  scripted: wireFormats,
};

/**
 * Returns the wire formats that a provider speaks. A server that is configured to use the Chat Completions API may have
 * no other.
 */
export function wireFormatsOf(provider: string, api?: "responses" | "chat"): readonly WireFormat[] {
  if (provider === "openai-compatible") return [api === "responses" ? "openai-responses" : "openai-chat"];
  if (api === "chat" && (provider === "openai" || provider === "azure")) return ["openai-chat"];
  return Object.hasOwn(formatsOfProviders, provider) ? (formatsOfProviders[provider] ?? []) : [];
}

/** Returns the format that a run uses: the first one of the harness that the model's provider speaks. */
export function chooseWireFormat(
  { wire_formats }: Pick<HarnessFacts, "wire_formats">,
  spoken: readonly WireFormat[],
): WireFormat | undefined {
  return wire_formats.find((format) => spoken.includes(format));
}

/** npm packages and their exact versions. */
export const HarnessPackages = z.record(z.string(), z.string());

/** The agent program that executed a run, for the receipt. */
export const UsedHarness = z
  .object({
    name: z.string(),
    title: z.string(),
    version: z
      .string()
      .optional()
      .meta({ description: "Version that the agent reports, or of its package." }),
    packages: HarnessPackages.optional().meta({ description: "Versions of its npm packages." }),
    adapter: z.string().optional().meta({
      description: "Package that makes the agent speak ACP, if it does not do so itself.",
    }),
  })
  .meta({ id: "UsedHarness" });
export type UsedHarness = z.infer<typeof UsedHarness>;

/** What a worker knows about one harness. */
export const WorkerHarness = z.object({
  name: z.string().max(64),
  version: z.string().max(128).optional(),
  installed: z.boolean(),
  problem: z.string().max(2_000).optional().meta({ description: "Why the worker cannot use it." }),
});
export type WorkerHarness = z.infer<typeof WorkerHarness>;

export const Harness = z
  .object({
    name: z.string(),
    title: z.string(),
    version: z.string().optional().meta({ description: "Absent if no worker has reported it." }),
    packages: HarnessPackages.optional().meta({
      description: "The operator's versions of its npm packages, in place of the pinned ones.",
    }),
    wire_formats: z.array(WireFormat).meta({
      description:
        "The provider of a run's model must speak one of these. `outrider` works with every model.",
    }),
    supports_mcp_servers: z.boolean(),
    supports_reasoning_effort: z.boolean(),
    small_model_id: z.string().optional().meta({
      description: "Model for short tasks of the agent, such as titles. Default: the model of the run.",
    }),
    models: z.array(z.string()).meta({ description: "Available models and aliases that work with it." }),
    installed: z.boolean().meta({
      description: "Whether a worker has installed it. Otherwise, a worker installs it when a run needs it.",
    }),
    available: z.boolean().meta({ description: "Whether runs can use it now." }),
    reason: z.string().optional().meta({ description: "Why it is not available." }),
  })
  .meta({ id: "Harness", description: "An agent program that can execute runs." });
export type Harness = z.infer<typeof Harness>;

export const ListHarnessesResponse = z
  .object({ harnesses: z.array(Harness) })
  .meta({ id: "ListHarnessesResponse" });
export type ListHarnessesResponse = z.infer<typeof ListHarnessesResponse>;
