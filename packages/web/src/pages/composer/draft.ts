import { randomName } from "../../random.ts";

/** What stands in the form: text as it was typed, because half a number is no number yet. */
export interface Draft {
  prompt: string;
  title: string;
  name: string;
  environment_id: string;
  model_id: string;
  skill_spec: string;
  base_prompt: string;
  idle_timeout_minutes: string;
  max_steps: string;
  max_cost_usd: string;
  timeout_minutes: string;
  priority: string;
  /** One `key=value` a line. */
  metadata: string;
  /** JSON. */
  output_schema: string;
  servers: ServerDraft[];
}

export interface ServerDraft {
  /** Tells rows apart while they are edited. */
  row: string;
  name: string;
  kind: "url" | "command";
  /** The address, or the program. */
  target: string;
  /** One argument a line. */
  args: string;
  /** One `Name: value` (headers) or `NAME=value` (variables) a line. */
  values: string;
}

export const emptyDraft: Draft = {
  prompt: "",
  title: "",
  name: "",
  environment_id: "",
  model_id: "",
  skill_spec: "",
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
  return { row: randomName(), name: "", kind: "url", target: "", args: "", values: "" };
}

/** What stands in the panel of options, as opposed to beside the prompt. */
const optional: TextMember[] = [
  ...(["title", "name", "skill_spec", "base_prompt", "idle_timeout_minutes", "max_steps"] as const),
  ...(["max_cost_usd", "timeout_minutes", "priority", "metadata", "output_schema"] as const),
];

export function countSet(draft: Draft, files: readonly File[]): number {
  const texts = optional.filter((member) => draft[member].trim() !== "").length;
  return texts + draft.servers.length + files.length;
}
