import { resolve } from "node:path/posix";
import type { Prompt } from "@outrider/agent/models/provider";
import { RUN_COMMAND } from "@outrider/agent/tools/run-command";
import { WRITE_FILE } from "@outrider/agent/tools/write-file";
import { quote } from "../../quote.ts";
import { type JsonObject, objectOf, stringOf } from "./json.ts";
import { sampleOf } from "./sample.ts";

/** A tool of an agent, as its request describes it. */
export interface AgentTool {
  name: string;
  /** The group that contains the tool. Codex groups the tools of an MCP server. */
  namespace?: string;
  /** Whether the tool takes a text instead of an object that matches the schema. */
  isFreeform?: boolean;
  schema?: unknown;
}

/** The names of agents' tools for shell commands and for writing files, without case and separators. */
const shellNames = ["bash", "shellcommand", "execcommand", "shell", "runshellcommand", "runcommand"];
const APPLY_PATCH = "applypatch";
const writeNames = ["write", "writefile", "createfile", APPLY_PATCH];

const commandFields = ["command", "cmd", "script"];
const pathFields = ["file_path", "filePath", "path", "absolute_path", "filename"];
const textFields = ["content", "contents", "text", "file_text"];

/** Returns the name under which a tool is in the conversation. */
export function fullName({ namespace, name }: AgentTool): string {
  return namespace ? `${namespace}__${name}` : name;
}

/** Returns whether a script's step leads to a call of the agent's tool. */
export function isCallOf(scriptTool: string, toolName: string): boolean {
  const name = simplify(toolName);
  if (scriptTool === RUN_COMMAND && shellNames.includes(name)) return true;
  if (scriptTool === WRITE_FILE && (writeNames.includes(name) || shellNames.includes(name))) return true;
  return isSameOrEnd(scriptTool, toolName);
}

/** Translates a step's call to a call of one of the agent's tools. A tool that the agent does not have keeps its name. */
export function toAgentCall(
  { tool: scriptTool, input }: { tool: string; input: JsonObject },
  { tools, workingFolder }: { tools: AgentTool[]; workingFolder: string | undefined },
): { tool: AgentTool; input: object } {
  const shell = findNamed(shellNames, tools);
  if (scriptTool === RUN_COMMAND && shell)
    return { tool: shell, input: shellInput(shell, stringOf(input.command)) };
  if (scriptTool === WRITE_FILE) {
    const file = { path: stringOf(input.path), text: stringOf(input.text), workingFolder };
    const write = findNamed(writeNames, tools);
    if (write) return { tool: write, input: writeInput(write, file) };
    if (shell) return { tool: shell, input: shellInput(shell, writeCommand(file)) };
  }
  const exact = tools.find((tool) => simplify(fullName(tool)) === simplify(scriptTool));
  const tool = exact ?? tools.find((tool) => isSameOrEnd(scriptTool, fullName(tool)));
  return { tool: tool ?? { name: scriptTool }, input };
}

interface File {
  path: string;
  text: string;
  workingFolder: string | undefined;
}

/** Codex returns from a command that takes longer than this. It can be asked for the rest. */
const YIELD_MS = 30_000;
const POLL_MS = 300_000;

/** Returns the call that waits for a command that the last result describes as still running. */
export function pollRunningCommand(
  prompt: Prompt,
  tools: AgentTool[],
): { tool: AgentTool; input: object } | undefined {
  const tool = tools.find(({ name }) => name === "write_stdin");
  const last = prompt.at(-1);
  if (!tool || last?.role !== "tool") return undefined;
  const [result] = last.content;
  const text = result?.type === "tool-result" && result.output.type === "text" ? result.output.value : "";
  // The text in front of the output is Codex's own.
  const session = /^Process running with session ID (\d+)$/m.exec(text.split("\nOutput:")[0] ?? "")?.[1];
  return session === undefined
    ? undefined
    : { tool, input: { session_id: Number(session), chars: "", yield_time_ms: POLL_MS } };
}

function findNamed(names: string[], tools: AgentTool[]): AgentTool | undefined {
  const found = names.map((name) => tools.find((tool) => simplify(tool.name) === name));
  return found.find((tool) => tool !== undefined);
}

/** Agents put the name of the MCP server before the name of a tool, with separators of their own. */
function isSameOrEnd(wanted: string, toolName: string): boolean {
  return simplify(wanted) === simplify(toolName) || separated(toolName).endsWith(`_${separated(wanted)}`);
}

function separated(name: string): string {
  return name.toLowerCase().replaceAll(/[_.:/-]+/g, "_");
}

function simplify(name: string): string {
  return name.toLowerCase().replaceAll(/[_.:/-]/g, "");
}

function shellInput(tool: AgentTool, command: string): object {
  const { field, schema, input } = requiredInput(tool, commandFields);
  input[field] = objectOf(schema).type === "array" ? ["bash", "-lc", command] : command;
  if (hasField(tool, "yield_time_ms")) input.yield_time_ms = YIELD_MS;
  return input;
}

function writeInput(tool: AgentTool, file: File): object {
  const { path, text, workingFolder } = file;
  if (simplify(tool.name) === APPLY_PATCH) {
    const { field, input } = requiredInput(tool, ["input", "patch"]);
    input[field] = addFilePatch(file);
    return input;
  }
  const { field, schema, input } = requiredInput(tool, pathFields);
  const isAbsolute = /absolute/i.test(stringOf(objectOf(schema).description));
  input[field] = isAbsolute && workingFolder ? resolve(workingFolder, path) : path;
  input[fieldOf(tool, textFields)] = text;
  return input;
}

/** Returns an input with all fields that the schema requires, and the field that has one of these names. */
function requiredInput(tool: AgentTool, fields: string[]) {
  const field = fieldOf(tool, fields);
  const schema = objectOf(objectOf(tool.schema).properties)[field];
  return { field, schema, input: objectOf(sampleOf(tool.schema)) };
}

function fieldOf(tool: AgentTool, fields: string[]): string {
  return fields.find((field) => hasField(tool, field)) ?? fields[0] ?? "";
}

function hasField({ schema }: AgentTool, field: string): boolean {
  return Object.hasOwn(objectOf(objectOf(schema).properties), field);
}

function addFilePatch({ path, text }: File): string {
  const lines = text.replace(/\n$/, "").split("\n");
  return [
    "*** Begin Patch",
    `*** Add File: ${path}`,
    ...lines.map((line) => `+${line}`),
    "*** End Patch",
    "",
  ].join("\n");
}

function writeCommand({ path, text }: File): string {
  return `mkdir -p "$(dirname ${quote(path)})" && printf %s ${quote(text)} > ${quote(path)}`;
}
