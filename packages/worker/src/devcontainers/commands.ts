import { z } from "zod";
import { quote } from "../quote.ts";
import { replaceContainerEnv } from "./substitute.ts";

const MAX_COMMANDS = 50;

const error = `must be a string, an array of strings, or an object with at most ${MAX_COMMANDS} of these`;

const Command = z.union([z.string(), z.array(z.string())]);
const ParallelCommands = z
  .record(z.string(), Command)
  .refine((commands) => Object.keys(commands).length <= MAX_COMMANDS, error);

/** A command of devcontainer.json: a line for the shell, the words of one command, or several that run in parallel. */
export const LifecycleCommand = z.union([Command, ParallelCommands], { error });
type LifecycleCommand = z.infer<typeof LifecycleCommand>;

/** Returns a command as a line for the shell, or undefined if there is nothing to run. */
export function shellCommand(
  command: LifecycleCommand,
  substitute: (text: string) => string,
): string | undefined {
  if (typeof command === "string" || Array.isArray(command)) return line(command, substitute);
  const lines = Object.values(command).flatMap((each) => line(each, substitute) ?? []);
  if (lines.length <= 1) return lines[0];
  return [
    ...lines.map((each, index) => `"\${BASH:-sh}" -c ${quote(each)} & command${index}=$!`),
    "failed=0",
    ...lines.map((_, index) => `wait $command${index} || failed=1`),
    "[ $failed = 0 ]",
  ].join("\n");
}

function line(command: string | string[], substitute: (text: string) => string): string | undefined {
  if (typeof command === "string")
    return command.trim() === ""
      ? undefined
      : replaceContainerEnv(substitute(command), (expansion) => expansion);
  if (command.length === 0) return undefined;
  // The expansion is outside the single quotes of its word.
  return command
    .map((word) => replaceContainerEnv(quote(substitute(word)), (expansion) => `'"${expansion}"'`))
    .join(" ");
}
