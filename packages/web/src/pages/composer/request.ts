import { type FieldError, validate } from "@outrider/contract/errors/field-error";
import { RunAgentRequest as RequestSchema } from "@outrider/contract/run";
import type {
  AmbientAgentConfigInput,
  NamedMCPServerConfig,
  PublishKind,
  ReasoningEffort,
  RunAgentRequest,
  RunLimits,
  SandboxKind,
} from "@outrider/sdk";
import { parseLabels } from "../../ui/form/worker-labels.ts";
import type { Draft, ServerDraft } from "./draft.ts";

/** Builds the request and validates it as the server will. Returns the errors if it is invalid. */
export function requestOf(draft: Draft): { request: RunAgentRequest } | { fieldErrors: FieldError[] } {
  const fieldErrors: FieldError[] = [];
  const number = (text: string) => (text.trim() === "" ? undefined : Number(text));
  const text = (value: string) => value.trim() || undefined;
  const config = omitUndefined<AmbientAgentConfigInput>({
    name: text(draft.name),
    harness: text(draft.harness),
    model_id: text(draft.model_id),
    reasoning_effort: text(draft.reasoning_effort) as ReasoningEffort | undefined,
    environment_id: text(draft.environment_id),
    skill_spec: text(draft.skill_spec),
    publish: text(draft.publish) as PublishKind | undefined,
    sandbox: text(draft.sandbox) as SandboxKind | undefined,
    worker_host: text(draft.worker_host),
    worker_selector: parseLabels(draft.worker_selector),
    base_prompt: draft.base_prompt.trim() ? draft.base_prompt : undefined,
    idle_timeout_minutes: number(draft.idle_timeout_minutes),
    mcp_servers:
      draft.servers.length > 0 ? draft.servers.map((each, at) => server(each, at, fieldErrors)) : undefined,
  });
  const limits = omitUndefined<RunLimits>({
    max_steps: number(draft.max_steps),
    max_cost_usd: number(draft.max_cost_usd),
    timeout_minutes: number(draft.timeout_minutes),
  });
  const prompt = draft.prompt.trim() === "" && config?.skill_spec !== undefined ? undefined : draft.prompt;
  const built = omitUndefined<RequestFields>({
    prompt,
    title: text(draft.title),
    config,
    limits,
    metadata: pairs(draft.metadata, { between: "=", pointer: "/metadata", fieldErrors }),
    output_schema: schema(draft.output_schema, fieldErrors),
    priority: number(draft.priority),
  });
  const result = validate(RequestSchema, built, "body");
  if ("errors" in result) fieldErrors.push(...result.errors);
  // A valid request has a prompt or a skill, which is what the type of requests also demands.
  return fieldErrors.length > 0 ? { fieldErrors } : { request: built as RunAgentRequest };
}

type RequestFields = { [K in keyof RunAgentRequest]?: RunAgentRequest[K] };

type Unfilled<T> = { [K in keyof T]: T[K] | undefined };

/** Removes undefined members. Returns undefined if no member remains. */
function omitUndefined<T extends object>(members: Unfilled<T>): T | undefined {
  const set = Object.entries(members).filter(([, value]) => value !== undefined);
  return set.length > 0 ? (Object.fromEntries(set) as T) : undefined;
}

function server(draft: ServerDraft, at: number, fieldErrors: FieldError[]): NamedMCPServerConfig {
  const pointer = `/config/mcp_servers/${at}`;
  const { name, target, timeouts } = draft;
  if (draft.kind === "url") {
    const headers = pairs(draft.values, { between: ":", pointer: `${pointer}/headers`, fieldErrors });
    return { name: name.trim(), url: target.trim(), ...(headers ? { headers } : {}), ...timeouts };
  }
  const args = draft.args.split("\n").filter((line) => line !== "");
  const env = pairs(draft.values, { between: "=", pointer: `${pointer}/env`, fieldErrors });
  return {
    name: name.trim(),
    command: target.trim(),
    ...(args.length > 0 ? { args } : {}),
    ...(env ? { env } : {}),
    ...timeouts,
  };
}

interface Pairing {
  between: ":" | "=";
  pointer: string;
  fieldErrors: FieldError[];
}

function pairs(text: string, { between, pointer, fieldErrors }: Pairing): Record<string, string> | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return undefined;
  const found = lines.map((line) => {
    const at = line.indexOf(between);
    if (at < 1) {
      const form = between === ":" ? "Name: value" : "name=value";
      fieldErrors.push({
        pointer,
        message: `must have one \`${form}\` per line; invalid line: ${line.slice(0, 40)}`,
      });
    }
    const value = line.slice(at + 1).trim();
    if (at > 0 && value === "") {
      const name = line.slice(0, at).trim();
      fieldErrors.push({ pointer, message: `must have a value for \`${name}\`; add one or remove the line` });
    }
    return [line.slice(0, at).trim(), value];
  });
  return Object.fromEntries(found);
}

function schema(text: string, fieldErrors: FieldError[]): Record<string, unknown> | undefined {
  if (text.trim() === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    fieldErrors.push({ pointer: "/output_schema", message: "must be a JSON object" });
  } catch (error) {
    fieldErrors.push({
      pointer: "/output_schema",
      message: `must be valid JSON: ${(error as Error).message}`,
    });
  }
  return undefined;
}
