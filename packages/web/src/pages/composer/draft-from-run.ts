import type { MCPServerConfig, RunItem } from "@outrider/sdk";
import { randomId } from "../../random.ts";
import { formatLabels } from "../../ui/form/worker-labels.ts";
import { type Draft, emptyDraft, type ServerDraft } from "./draft.ts";

const text = (value: string | number | undefined) => (value === undefined ? "" : String(value));

/** Returns a form draft that repeats a run. Masked values in MCP server settings are left empty. */
export function draftOfRun(run: RunItem): Draft {
  const { agent_config: config, limits = {}, metadata = {}, output_schema } = run;
  return {
    ...emptyDraft,
    prompt: run.prompt,
    // A title derived from the prompt is left empty, because the prompt may change.
    title: run.prompt.trimStart().startsWith(run.title.replace(/…$/, "")) ? "" : run.title,
    name: text(config.name),
    environment_id: text(config.environment_id),
    harness: text(config.harness),
    model_id: text(config.model_id),
    reasoning_effort: text(config.reasoning_effort),
    skill_spec: text(config.skill_spec),
    publish: text(config.publish),
    sandbox: text(config.sandbox),
    worker_host: text(config.worker_host),
    worker_selector: formatLabels(config.worker_selector),
    base_prompt: text(config.base_prompt),
    idle_timeout_minutes: text(config.idle_timeout_minutes),
    max_steps: text(limits.max_steps),
    max_cost_usd: text(limits.max_cost_usd),
    timeout_minutes: text(limits.timeout_minutes),
    priority: run.priority === 0 ? "" : text(run.priority),
    metadata: lines(metadata, "="),
    output_schema: output_schema ? JSON.stringify(output_schema, null, 2) : "",
    servers: Object.entries(config.mcp_servers ?? {}).map(([name, server]) => serverDraft(name, server)),
  };
}

function serverDraft(name: string, server: MCPServerConfig): ServerDraft {
  const { url, command, args, env, headers, ...timeouts } = server;
  return {
    row: randomId(),
    name,
    kind: url === undefined ? "command" : "url",
    target: url ?? command ?? "",
    args: (args ?? []).join("\n"),
    values: url === undefined ? lines(shown(env), "=") : lines(shown(headers), ": "),
    timeouts,
  };
}

function shown(values: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value.includes("***") ? "" : value]),
  );
}

function lines(values: Record<string, string>, between: string): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}${between}${value}`)
    .join("\n");
}
