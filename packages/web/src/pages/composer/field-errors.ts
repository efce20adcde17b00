import type { FieldError } from "@outrider/contract/errors/field-error";
import { placeErrors } from "../../ui/form/place-errors.ts";
import type { Draft } from "./draft.ts";

/** Maps each invalid field's path in the request to its error, which is phrased to follow the field's label. */
export type ComposerErrors = Readonly<Record<string, string>>;

const besidePrompt = ["prompt", "attachments", "config.environment_id", "config.harness", "config.model_id"];
const inOptions = [
  ...["title", "metadata", "output_schema", "priority", "config.mcp_servers"],
  ...["config.name", "config.skill_spec", "config.base_prompt", "config.idle_timeout_minutes"],
  ...["config.reasoning_effort", "config.publish"],
  ...["config.sandbox", "config.worker_host", "config.worker_selector"],
  ...["limits.max_steps", "limits.max_cost_usd", "limits.timeout_minutes"],
];
const serverFields = ["name", "url", "command", "args", "env", "headers"];

/**
 * Assigns errors to the fields. If `isComplete` is false, the fields do not show every error, and the form must also
 * show the request's error.
 */
export function errorsByField(
  all: readonly FieldError[],
  draft: Draft,
): { errors: ComposerErrors; isComplete: boolean } {
  const names = new Set([
    ...besidePrompt,
    ...inOptions,
    ...draft.servers.flatMap((_, at) => serverFields.map((field) => `config.mcp_servers.${at}.${field}`)),
  ]);
  const { placed, unplaced } = placeErrors(all, names, (path) => serverPath(path, draft));
  return {
    errors: Object.fromEntries(placed.map(({ name, message }) => [name, message])),
    isComplete: placed.length > 0 && unplaced.length === 0,
  };
}

/**
 * Replaces the name of an MCP server with its position, because some API errors identify servers by name. An error that
 * concerns the whole server is shown at its URL or command.
 */
function serverPath(path: string[], { servers }: Draft): string[] {
  const [config, list, server, ...rest] = path;
  if (list !== "mcp_servers" || config === undefined || server === undefined) return path;
  const named = servers.findIndex(({ name }) => name.trim() === server);
  const at = named < 0 ? server : String(named);
  return [config, list, at, ...(rest.length > 0 ? rest : [servers[Number(at)]?.kind ?? "url"])];
}

export function isInOptions(errors: ComposerErrors): boolean {
  return Object.keys(errors).some((name) => !besidePrompt.includes(name));
}
