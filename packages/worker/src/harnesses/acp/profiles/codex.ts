import type { ReasoningEffort } from "@outrider/contract/agent-config";
import type { AgentSetup, CommandState, Profile, ToolCallState } from "../profile.ts";

const FULL_ACCESS = "agent-full-access";
const CATALOG = ".codex/models.json";
const PRELOAD = ".codex/outrider-preload.mjs";

const [platform, target] =
  process.arch === "arm64"
    ? ["linux-arm64", "aarch64-unknown-linux-musl"]
    : ["linux-x64", "x86_64-unknown-linux-musl"];

/**
 * The models that the pinned version has metadata and instructions for, or the beginnings of their names. For any other
 * name it would assume a model without the tool that edits files.
 */
const knownModels = [
  "gpt-5.5",
  "gpt-5.6-luna",
  "gpt-5.6-sol",
  "gpt-5.6-terra",
  "gpt-6-astra",
  "gpt-6-luna",
  "gpt-6-sol",
  "gpt-6.1-sol",
  "gpt-6.1-terra",
];

const efforts: Record<ReasoningEffort, string> = {
  none: "none",
  low: "low",
  medium: "medium",
  high: "high",
  max: "xhigh",
};

/** Codex reads at most this much of instruction files. */
const MAX_INSTRUCTION_BYTES = 256 * 1024;

/**
 * Without these rules, Codex refuses commands with `rm -f`, although the sandbox is the boundary. It applies rules to the
 * programs in a command line, or to the shell if it cannot tell which these are.
 */
const RULES = `prefix_rule(pattern = [["rm", "/bin/rm", "/usr/bin/rm", "sudo", "env"]], decision = "allow")
prefix_rule(pattern = [["bash", "/bin/bash", "/usr/bin/bash", "sh", "/bin/sh", "/usr/bin/sh"]], decision = "allow")
`;

/** OpenAI's Codex, through its ACP adapter. */
export const codex: Profile = {
  name: "codex",
  readsGuides: ["AGENTS.md", "CLAUDE.md"],
  command: ({ node, packages, home }) => [
    node,
    "--import",
    `${home}/${PRELOAD}`,
    `${packages}/@agentclientprotocol/codex-acp/dist/index.js`,
  ],
  env: ({ packages }) => ({
    // The binary is static and runs in any image. Codex's own launcher would need Node's path.
    CODEX_PATH: `${packages}/@openai/codex-${platform}/vendor/${target}/bin/codex`,
    INITIAL_AGENT_MODE: FULL_ACCESS,
    NO_BROWSER: "1",
  }),
  files: (agent) => ({
    ".codex/config.toml": configOf(agent),
    ".codex/AGENTS.md": `${agent.instructions}\n`,
    ".codex/rules/default.rules": RULES,
    [PRELOAD]: preload,
    ...(isKnownModel(agent.model.id) ? {} : { [CATALOG]: JSON.stringify(catalogOf(agent), undefined, 2) }),
  }),
  whileBusy: "queue",
  canLoadSessions: true,
  startMs: 60_000,
  sessionMode: FULL_ACCESS,
  clientMeta: { terminal_output_delta: true },
  commandOf,
  toolOf,
  inputOf,
};

/**
 * Codex streams the output of a command only from the moment at which it reports the command, and loses what was printed
 * before. Its adapter sends the whole output at the end of a command if nothing was streamed. The adapter has no setting
 * for this, so its first request to Codex is completed.
 */
const preload = `import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";

const { spawn } = childProcess;

childProcess.spawn = (...options) => {
  const child = spawn(...options);
  const write = child.stdin?.write;
  let isInitialized = write === undefined;
  if (!isInitialized)
    child.stdin.write = function (chunk, ...rest) {
      if (isInitialized || !String(chunk).includes('"method":"initialize"'))
        return write.call(this, chunk, ...rest);
      isInitialized = true;
      const message = JSON.parse(String(chunk));
      message.params.capabilities ??= {};
      message.params.capabilities.optOutNotificationMethods = ["item/commandExecution/outputDelta"];
      return write.call(this, JSON.stringify(message) + "\\n", ...rest);
    };
  return child;
};
syncBuiltinESMExports();
`;

function configOf({ model, reasoningEffort, gatewayUrl, home, workingFolder }: AgentSetup): string {
  const { id, context_tokens } = model;
  return toToml({
    "": {
      model: id,
      model_provider: "outrider",
      review_model: id,
      model_context_window: context_tokens,
      ...(reasoningEffort && { model_reasoning_effort: efforts[reasoningEffort] }),
      ...(isKnownModel(id) ? {} : { model_catalog_json: `${home}/${CATALOG}` }),
      // Outrider's sandbox is the boundary. Codex's own sandbox does not work inside it.
      approval_policy: "never",
      sandbox_mode: "danger-full-access",
      // A login shell would replace the environment's PATH.
      allow_login_shell: false,
      // The provider would search outside the sandbox and its network policy.
      web_search: "disabled",
      check_for_update_on_startup: false,
      project_doc_max_bytes: MAX_INSTRUCTION_BYTES,
      project_doc_fallback_filenames: ["CLAUDE.md"],
    },
    "model_providers.outrider": {
      name: "Outrider",
      base_url: `${gatewayUrl}/v1`,
      wire_api: "responses",
      // The gateway itself retries.
      request_max_retries: 1,
      stream_max_retries: 1,
    },
    // Commands get all variables of the run, also those whose names contain KEY or TOKEN.
    shell_environment_policy: { inherit: "all", ignore_default_excludes: true },
    [`projects.${JSON.stringify(workingFolder)}`]: { trust_level: "trusted" },
    analytics: { enabled: false },
    feedback: { enabled: false },
    features: { apps: false, plugins: false, image_generation: false },
  });
}

function isKnownModel(id: string): boolean {
  const name = id.slice(id.lastIndexOf("/") + 1);
  return knownModels.some((known) => name.startsWith(known));
}

/** Metadata for a model that Codex does not know. */
function catalogOf({ model }: AgentSetup) {
  const entry = {
    slug: model.id,
    display_name: model.id,
    default_reasoning_level: "medium",
    supported_reasoning_levels: ["low", "medium", "high"].map((effort) => ({ effort, description: effort })),
    shell_type: "unified_exec",
    visibility: "list",
    supported_in_api: true,
    priority: 1,
    support_verbosity: false,
    apply_patch_tool_type: "freeform",
    truncation_policy: { mode: "tokens", limit: 10_000 },
    context_window: model.context_tokens,
    experimental_supported_tools: [],
    input_modalities: model.supports_images ? ["text", "image"] : ["text"],
    base_instructions: BASE_INSTRUCTIONS,
  };
  return { models: [entry] };
}

const BASE_INSTRUCTIONS = `You are a coding agent that works in a terminal without a user watching. Work on the task until \
it is done: explore the code first, make the smallest change that solves the problem, and verify it with the project's own \
tests or by running it. Use apply_patch to edit files and rg to search. Follow the instructions of AGENTS.md files. Do not \
commit unless asked to. End with a short summary of what you changed and how you verified it.`;

type TomlValue = string | number | boolean | string[];

/** JSON's strings, numbers, booleans and lists of strings are valid TOML. */
function toToml(tables: Record<string, Record<string, TomlValue>>): string {
  return Object.entries(tables)
    .map(([name, values]) => {
      const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
      return `${name === "" ? "" : `[${name}]\n`}${lines.join("")}`;
    })
    .join("\n");
}

function commandOf(call: ToolCallState): CommandState | undefined {
  const { kind, name, title, rawInput, rawOutput, meta, terminalOutput, terminalExit } = call;
  if (meta.is_mcp_tool_call === true) return undefined;
  if (kind !== "execute" && name !== "exec_command") return undefined;
  const { command } = Object(rawInput);
  const { exit_code } = Object(rawOutput);
  return {
    // For a command that only reads or searches files, Codex says what it does instead of what it runs.
    command: typeof command === "string" ? command : title,
    output: terminalOutput,
    // Codex sends null for a command that it stopped.
    exitCode: terminalExit?.exitCode ?? (Number.isInteger(exit_code) ? exit_code : undefined),
  };
}

/** Tools of MCP servers have the name `server__tool`, as in the built-in agent. */
function toolOf({ kind, name, rawInput, meta }: ToolCallState): string | undefined {
  const { server, tool } = Object(rawInput);
  if (meta.is_mcp_tool_call === true && typeof tool === "string") return `${server}__${tool}`;
  return kind === "edit" ? "apply_patch" : name;
}

function inputOf({ rawInput, meta }: ToolCallState): unknown {
  return meta.is_mcp_tool_call === true ? Object(rawInput).arguments : rawInput;
}
