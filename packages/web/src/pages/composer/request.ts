import type {
  AmbientAgentConfigInput,
  NamedMCPServerConfig,
  RunAgentRequest,
  RunLimits,
} from "@outrider/sdk";
import type { Draft, ServerDraft } from "./draft.ts";
import type { Fault } from "./faults.ts";

/** What the form asks for, or what of it cannot even be sent. Everything else the API judges. */
export function requestOf(draft: Draft): { request: RunAgentRequest } | { faults: Fault[] } {
  const faults: Fault[] = [];
  const number = (text: string, pointer: string): number | undefined => {
    if (text.trim() === "") return undefined;
    const value = Number(text);
    if (Number.isFinite(value)) return value;
    faults.push({ pointer, message: "must be a number" });
    return undefined;
  };
  const text = (value: string) => value.trim() || undefined;
  const config = filled<AmbientAgentConfigInput>({
    name: text(draft.name),
    model_id: text(draft.model_id),
    environment_id: text(draft.environment_id),
    skill_spec: text(draft.skill_spec),
    base_prompt: draft.base_prompt.trim() ? draft.base_prompt : undefined,
    idle_timeout_minutes: number(draft.idle_timeout_minutes, "/config/idle_timeout_minutes"),
    mcp_servers:
      draft.servers.length > 0 ? draft.servers.map((each, at) => server(each, at, faults)) : undefined,
  });
  const limits = filled<RunLimits>({
    max_steps: number(draft.max_steps, "/limits/max_steps"),
    max_cost_usd: number(draft.max_cost_usd, "/limits/max_cost_usd"),
    timeout_minutes: number(draft.timeout_minutes, "/limits/timeout_minutes"),
  });
  const request = filled<Omit<RunAgentRequest, "prompt">>({
    title: text(draft.title),
    config,
    limits,
    metadata: pairs(draft.metadata, { between: "=", pointer: "/metadata", faults }),
    output_schema: schema(draft.output_schema, faults),
    priority: number(draft.priority, "/priority"),
  });
  return faults.length > 0 ? { faults } : { request: { prompt: draft.prompt, ...request } };
}

type Unfilled<T> = { [K in keyof T]: T[K] | undefined };

/** Undefined where nothing is set at all. */
function filled<T extends object>(members: Unfilled<T>): T | undefined {
  const set = Object.entries(members).filter(([, value]) => value !== undefined);
  return set.length > 0 ? (Object.fromEntries(set) as T) : undefined;
}

function server(draft: ServerDraft, at: number, faults: Fault[]): NamedMCPServerConfig {
  const pointer = `/config/mcp_servers/${at}`;
  const { name, target } = draft;
  if (draft.kind === "url") {
    const headers = pairs(draft.values, { between: ":", pointer: `${pointer}/headers`, faults });
    return { name: name.trim(), url: target.trim(), ...(headers ? { headers } : {}) };
  }
  const args = draft.args.split("\n").filter((line) => line !== "");
  const env = pairs(draft.values, { between: "=", pointer: `${pointer}/env`, faults });
  return {
    name: name.trim(),
    command: target.trim(),
    ...(args.length > 0 ? { args } : {}),
    ...(env ? { env } : {}),
  };
}

interface Pairing {
  between: ":" | "=";
  pointer: string;
  faults: Fault[];
}

function pairs(text: string, { between, pointer, faults }: Pairing): Record<string, string> | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return undefined;
  const found = lines.map((line) => {
    const at = line.indexOf(between);
    if (at < 1) {
      const form = between === ":" ? "Name: value" : "name=value";
      faults.push({
        pointer,
        message: `must have one \`${form}\` a line; this is none: ${line.slice(0, 40)}`,
      });
    }
    const value = line.slice(at + 1).trim();
    if (at > 0 && value === "") {
      const name = line.slice(0, at).trim();
      faults.push({ pointer, message: `has no value for \`${name}\`: give it, or take the line out` });
    }
    return [line.slice(0, at).trim(), value];
  });
  return Object.fromEntries(found);
}

function schema(text: string, faults: Fault[]): Record<string, unknown> | undefined {
  if (text.trim() === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    faults.push({ pointer: "/output_schema", message: "must be a JSON object" });
  } catch (error) {
    faults.push({ pointer: "/output_schema", message: `is not JSON: ${(error as Error).message}` });
  }
  return undefined;
}
