import { nearestName } from "@outrider/contract/errors/field-error";
import type { Tool } from "../tools/tool.ts";

const MAX_NAME_CHARACTERS = 100;
/** More names would cost more context than the model's mistake. */
const MAX_LISTED_NAMES = 30;

/**
 * Finds the tool that the model means. Some models change a name's case (`Read_File`, `readFile`) or add the prefix of
 * the API that they were trained on (`functions.read_file`).
 */
export function findTool(name: string, tools: readonly Tool[]): Tool | undefined {
  const exact = tools.find((tool) => tool.name === name);
  if (exact || name.length > MAX_NAME_CHARACTERS) return exact;
  const wanted = simplify(name);
  const [match, ...others] = tools.filter((tool) => simplify(tool.name) === wanted);
  return wanted !== "" && others.length === 0 ? match : undefined;
}

/** Returns one sentence for the model: which tool is the closest, or which tools there are. */
export function describeUnknownTool(name: string, tools: readonly Tool[]): string {
  const names = tools.map((tool) => tool.name);
  const nearest = nearestName(name, names);
  if (nearest) return `There is no tool ${name}: call ${nearest} instead.`;
  const listed = names.slice(0, MAX_LISTED_NAMES).join(", ");
  const more = names.length > MAX_LISTED_NAMES ? ` and ${names.length - MAX_LISTED_NAMES} more` : "";
  return `There is no tool ${name}: use one of ${listed}${more}.`;
}

/** Returns whether two names mean the same tool. */
export function isSameTool(name: string, other: string): boolean {
  return name === other || simplify(name) === simplify(other);
}

function simplify(name: string): string {
  return name
    .replace(/^(functions|tools|default_api|api)[.:/]/i, "")
    .toLowerCase()
    .replaceAll(/[_.-]/g, "");
}
