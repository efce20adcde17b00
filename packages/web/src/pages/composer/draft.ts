import type { MCPServerConfig } from "@outrider/sdk";
import { randomId } from "../../random.ts";

/** The form's values. Numbers remain text until they are sent, because a half-typed number is not valid. */
export interface Draft {
  prompt: string;
  title: string;
  name: string;
  environment_id: string;
  /** Empty: the harness of the environment, or the built-in one. */
  harness: string;
  model_id: string;
  reasoning_effort: string;
  skill_spec: string;
  /** Empty: as the environment says. */
  publish: string;
  /** Empty: as the environment says. */
  sandbox: string;
  worker_host: string;
  /** Labels such as `region=eu, gpu`. */
  worker_selector: string;
  base_prompt: string;
  idle_timeout_minutes: string;
  max_steps: string;
  max_cost_usd: string;
  timeout_minutes: string;
  priority: string;
  /** The metadata as text, with one `key=value` pair per line. */
  metadata: string;
  /** The JSON Schema as text. */
  output_schema: string;
  servers: ServerDraft[];
}

export interface ServerDraft {
  /** The row's React key. */
  row: string;
  name: string;
  kind: "url" | "command";
  /** The URL or the command. */
  target: string;
  /** The arguments, one per line. */
  args: string;
  /** Headers as `Name: value` or variables as `NAME=value`, one per line. */
  values: string;
  /** Settings without a field in the form, which a repeated run keeps. */
  timeouts?: Pick<MCPServerConfig, "startup_timeout_seconds" | "call_timeout_seconds">;
}

export const emptyDraft: Draft = {
  prompt: "",
  title: "",
  name: "",
  environment_id: "",
  harness: "",
  model_id: "",
  reasoning_effort: "",
  skill_spec: "",
  publish: "",
  sandbox: "",
  worker_host: "",
  worker_selector: "",
  base_prompt: "",
  idle_timeout_minutes: "",
  max_steps: "",
  max_cost_usd: "",
  timeout_minutes: "",
  priority: "",
  metadata: "",
  output_schema: "",
  servers: [],
};

export type TextMember = Exclude<keyof Draft, "servers">;

export function emptyServer(): ServerDraft {
  return { row: randomId(), name: "", kind: "url", target: "", args: "", values: "" };
}

/** The fields in the options panel. The others are next to the prompt. */
const optional: TextMember[] = [
  ...(["title", "name", "skill_spec", "base_prompt", "idle_timeout_minutes", "max_steps"] as const),
  ...([
    "reasoning_effort",
    "publish",
    "sandbox",
    "worker_host",
    "worker_selector",
    "max_cost_usd",
    "timeout_minutes",
    "priority",
    "metadata",
    "output_schema",
  ] as const),
];

export function countOptions(draft: Draft): number {
  const texts = optional.filter((member) => draft[member].trim() !== "").length;
  return texts + draft.servers.length;
}
