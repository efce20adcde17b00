/**
 * Summarizes the log of a run for an agent whose session cannot be loaded. The agent gets the user's messages and, as a
 * note, what it has done: its messages, its commands with their exit codes, its other tool calls and the changed files.
 */
import { handoverNote } from "@outrider/agent/conversation/notes";
import type { LogEvent } from "@outrider/agent/event";

const MAX_SUMMARY_CHARACTERS = 32_000;
const MAX_MESSAGE_CHARACTERS = 4_000;
const MAX_LINE_CHARACTERS = 500;
const MAX_FILES = 200;

/** Returns whether the log shows any work of the agent. */
export function hasWork(log: readonly LogEvent[]): boolean {
  return log.some(({ type }) => workTypes.has(type));
}

const workTypes = new Set<LogEvent["type"]>(["message.agent", "command.started", "tool.called"]);

export function summarizeLog(log: readonly LogEvent[]): string {
  const lines: string[] = [];
  const commands = new Map<string, string>();
  const files = new Map<string, string>();
  const results: number[] = [];
  let lostCalls = 0;
  for (const event of log) {
    switch (event.type) {
      case "message.agent":
        lines.push(`You wrote: ${cut(event.data.text, MAX_MESSAGE_CHARACTERS)}`);
        break;
      case "command.started":
        commands.set(event.data.command_id, event.data.command);
        break;
      case "command.finished": {
        const { command_id, exit_code } = event.data;
        const command = cut(commands.get(command_id) ?? "", MAX_LINE_CHARACTERS);
        lines.push(`You ran a command (exit code ${exit_code ?? "unknown"}): ${command}`);
        commands.delete(command_id);
        results.push(event.seq ?? Number.POSITIVE_INFINITY);
        break;
      }
      case "tool.returned": {
        const { tool, is_error } = event.data;
        lines.push(
          `You called the tool ${cut(tool, MAX_LINE_CHARACTERS)}${is_error ? ", which failed" : ""}.`,
        );
        results.push(event.seq ?? Number.POSITIVE_INFINITY);
        break;
      }
      case "file.changed":
        files.set(event.data.path, event.data.kind);
        break;
      case "run.recovering": {
        const { restored_seq = 0 } = event.data;
        const restored = results.filter((seq) => seq <= restored_seq);
        lostCalls += results.length - restored.length;
        results.splice(0, results.length, ...restored);
        break;
      }
      case "run.cancelled":
        lines.push("The user cancelled your work.");
        break;
      case "run.failed":
        lines.push(`Your turn failed: ${cut(event.data.status_message.message, MAX_LINE_CHARACTERS)}`);
        break;
    }
  }
  for (const command of commands.values())
    lines.push(`You started a command whose result is unknown: ${cut(command, MAX_LINE_CHARACTERS)}`);
  const summary = [...lastOf(lines), ...describeFiles(files)].join("\n");
  return handoverNote({ summary, finishedCalls: results.length, lostCalls });
}

/** Returns the latest lines that fit. */
function lastOf(lines: string[]): string[] {
  let characters = 0;
  const first = lines.findLastIndex((line) => {
    characters += line.length + 1;
    return characters > MAX_SUMMARY_CHARACTERS;
  });
  return first === -1 ? lines : [`(${first + 1} earlier entries are omitted.)`, ...lines.slice(first + 1)];
}

function describeFiles(files: Map<string, string>): string[] {
  if (files.size === 0) return [];
  const shown = [...files]
    .slice(-MAX_FILES)
    .map(([path, kind]) => `- ${cut(path, MAX_LINE_CHARACTERS)} (${kind})`);
  const omitted = files.size - shown.length;
  return ["Files that changed:", ...shown, ...(omitted > 0 ? [`- and ${omitted} others`] : [])];
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)} […]`;
}
