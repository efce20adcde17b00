import type { Command } from "commander";
import { exits, UsageError } from "./exit-codes.ts";
import { rootHelp } from "./root-help.ts";
import { pathOf, usageMessage } from "./usage-message.ts";

const args = process.argv.slice(2);
const isJson = args.includes("--json");

// A reader such as `head` closes the pipe early. This is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(exits.ok);
  // After the terminal was closed, nothing can be shown. SIGHUP ends the command.
  if (error.code !== "EIO") throw error;
});
// Messages that nobody can read must not end a command: a server whose log pipe is closed still stops in order.
process.stderr.on("error", () => {});

/** Turns Commander's errors into UsageErrors, so that they get the right exit code and, if requested, JSON output. */
function handleUsageErrors(command: Command): void {
  command.exitOverride((error) => {
    if (error.exitCode === 0) process.exit(exits.ok);
    // A subcommand is missing, and Commander has already shown the help.
    if (error.code === "commander.help") process.exit(exits.usage);
    throw new UsageError(`${usageMessage(error, command)} See \`${pathOf(command)} --help\`.`);
  });
  command.configureOutput({ outputError: () => {} });
  for (const subcommand of command.commands) handleUsageErrors(subcommand);
}

async function runCommand(): Promise<void> {
  const { createProgram, findCommandName } = await import("./program.ts");
  const program = await createProgram({ only: findCommandName(args) ?? "" });
  handleUsageErrors(program);
  program.hook("preAction", (_, command) => rejectIgnoredOptions(program, command));
  await program.parseAsync(args, { from: "user" });
}

try {
  if (args.length === 1 && ["--help", "-h", "help"].includes(args[0] as string))
    process.stdout.write(rootHelp());
  else await runCommand();
} catch (error) {
  const { printError } = await import("./terminal/print-error.ts");
  process.exitCode = printError(error, { isJson });
}

/** Rejects global options that the command does not support, because they would be ignored. */
function rejectIgnoredOptions(program: Command, command: Command): void {
  if (command.options.some(({ long }) => long === "--profile")) return;
  for (const option of program.options)
    if (program.getOptionValueSource(option.attributeName()) === "cli")
      throw new UsageError(`\`${pathOf(command)}\` does not support ${option.long}.`);
}
