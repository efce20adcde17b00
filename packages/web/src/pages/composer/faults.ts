import { APIStatusError } from "@outrider/sdk";
import type { Draft } from "./draft.ts";

/** What is wrong with one member of the request. */
export interface Fault {
  pointer: string;
  message: string;
}

/** Members that have a field of their own in the form. MCP servers are told apart further in. */
const fields = [
  ...["/prompt", "/title", "/metadata", "/attachments", "/output_schema", "/priority"],
  ...["name", "model_id", "environment_id", "skill_spec", "base_prompt", "idle_timeout_minutes"].map(
    (member) => `/config/${member}`,
  ),
  ...["max_steps", "max_cost_usd", "timeout_minutes"].map((member) => `/limits/${member}`),
  "/config/mcp_servers",
];

const beside = ["/prompt", "/config/environment_id", "/config/model_id"];

function isWithin(pointer: string, field: string): boolean {
  return pointer === field || pointer.startsWith(`${field}/`);
}

/** The faults that fields can show. Where one fits none, the whole error has to be shown instead. */
export function faultsIn(error: unknown, draft: Draft): { placed: Fault[]; isWhole: boolean } {
  const all = error instanceof APIStatusError ? (error.errors ?? []) : [];
  const placed = all
    .filter(({ pointer }) => fields.some((field) => isWithin(pointer, field)))
    .map(({ pointer, message }) => ({ pointer: byPosition(pointer, draft), message }));
  return { placed, isWhole: all.length > 0 && placed.length === all.length };
}

/** Rules about secrets name the server, as it is stored by name; the form knows its place. */
function byPosition(pointer: string, draft: Draft): string {
  const [, name, rest = ""] = /^\/config\/mcp_servers\/([^/]+)(.*)$/.exec(pointer) ?? [];
  const at = draft.servers.findIndex((server) => server.name.trim() === name);
  return at < 0 ? pointer : `/config/mcp_servers/${at}${rest}`;
}

/** The words for a field; what lies deeper than it is named. */
export function faultAt(faults: readonly Fault[], field: string): string | undefined {
  const found = faults.filter(({ pointer }) => isWithin(pointer, field));
  if (found.length === 0) return undefined;
  return found
    .map(
      ({ pointer, message }) => `${pointer.slice(field.length + 1).replaceAll("/", ".") || "It"} ${message}.`,
    )
    .join(" ");
}

export function isInOptions({ pointer }: Fault): boolean {
  return !beside.some((field) => isWithin(pointer, field));
}
