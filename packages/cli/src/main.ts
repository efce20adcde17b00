import type { Command } from "commander";
import { Complaint, exits } from "./exit.ts";
import { rootHelp } from "./root.ts";

const args = process.argv.slice(2);
const isJson = args.includes("--json");

// Whoever read our output has enough, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(exits.ok);
  throw error;
});

/** Bad usage ends with its own number, and in the form that was asked for. */
function prepare(command: Command): void {
  command.exitOverride((error) => {
    if (error.exitCode === 0) process.exit(exits.ok);
    // Where help was shown in place of a command, it has said everything.
    if (error.code === "commander.help") process.exit(exits.usage);
    const message = error.message.replace(/^error: /, "").replace(/\n.*/s, (rest) => rest.replace("\n", " "));
    throw new Complaint(
      `${message.replace(/[^.?)]$/, "$&.")} See \`outrider ${[...pathOf(command), "--help"].join(" ")}\`.`,
    );
  });
  command.configureOutput({ outputError: () => {} });
  for (const each of command.commands) prepare(each);
}

function pathOf(command: Command): string[] {
  return command.parent ? [...pathOf(command.parent), command.name()] : [];
}

async function perform(): Promise<void> {
  const { makeProgram, namedCommand } = await import("./program.ts");
  const program = await makeProgram({ only: namedCommand(args) ?? "" });
  prepare(program);
  program.hook("preAction", (_, command) => refuseUnheard(program, command));
  await program.parseAsync(args, { from: "user" });
}

try {
  if (args.length === 1 && ["--help", "-h", "help"].includes(args[0] as string))
    process.stdout.write(rootHelp());
  else await perform();
} catch (error) {
  const { tell } = await import("./trouble.ts");
  process.exitCode = tell(error, { isJson });
}

/** What stands before a command that knows nothing of it would be dropped without a word. */
function refuseUnheard(program: Command, command: Command): void {
  if (command.options.some(({ long }) => long === "--profile")) return;
  for (const option of program.options)
    if (program.getOptionValueSource(option.attributeName()) === "cli")
      throw new Complaint(`outrider ${pathOf(command).join(" ")} takes no ${option.long} before its name.`);
}
