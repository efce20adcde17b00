import { Command } from "commander";
import { addGlobalOptions } from "./global-options.ts";
import { entries, rootHelp, rootOptions } from "./root.ts";
import { version } from "./version.ts";

/** Each is loaded when it is called: the help of one must not wait for the server of another. */
const loaders: Record<keyof typeof entries, () => Promise<Command>> = {
  run: async () => (await import("./commands/run.ts")).runCommand,
  runs: async () => (await import("./commands/runs.ts")).runsCommand,
  artifact: async () => (await import("./commands/artifact.ts")).artifactCommand,
  env: async () => (await import("./commands/env.ts")).envCommand,
  secret: async () => (await import("./commands/secret.ts")).secretCommand,
  skill: async () => (await import("./commands/skill.ts")).skillCommand,
  model: async () => (await import("./commands/model.ts")).modelCommand,
  agent: async () => (await import("./commands/agent.ts")).agentCommand,
  key: async () => (await import("./commands/key.ts")).keyCommand,
  login: async () => (await import("./commands/login.ts")).loginCommand,
  logout: async () => (await import("./commands/logout.ts")).logoutCommand,
  me: async () => (await import("./commands/me.ts")).meCommand,
  api: async () => (await import("./commands/api.ts")).apiCommand,
  completion: async () => (await import("./commands/completion.ts")).completionCommand,
  serve: async () => (await import("./commands/serve.ts")).serveCommand,
  worker: async () => (await import("./commands/worker.ts")).workerCommand,
  installation: async () => (await import("./commands/installation.ts")).installationCommand,
  brake: async () => (await import("./commands/brake.ts")).brakeCommand,
  workers: async () => (await import("./commands/workers.ts")).workersCommand,
  people: async () => (await import("./commands/people.ts")).peopleCommand,
  person: async () => (await import("./commands/person.ts")).personCommand,
  backup: async () => (await import("./commands/backup.ts")).backupCommand,
  restore: async () => (await import("./commands/restore.ts")).restoreCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
};

/** The whole tree, or of one command only; the others are then names in the help. */
export async function makeProgram({ only }: { only?: string } = {}): Promise<Command> {
  const [[versionFlags, versionSays], [helpFlags, helpSays]] = rootOptions as [
    [string, string],
    [string, string],
  ];
  const program = addGlobalOptions(
    new Command("outrider")
      .description("Runs coding agents on request.")
      .version(version, versionFlags, versionSays)
      .helpOption(helpFlags, helpSays)
      .enablePositionalOptions(),
  );
  program.helpInformation = rootHelp;
  // Completion is about all of them.
  const isWhole = only === undefined || only === "completion";
  for (const [name, load] of Object.entries(loaders)) {
    const { description } = entries[name as keyof typeof entries];
    const isWanted = isWhole || only === name;
    program.addCommand(isWanted ? await load() : new Command(name).description(description));
  }
  return program;
}

/** The command that the arguments name, if they name one. */
export function namedCommand(args: string[]): string | undefined {
  const isValue = (index: number) => ["--profile", "--server"].includes(args[index - 1] ?? "");
  return args.find((arg, index) => !arg.startsWith("-") && arg !== "help" && !isValue(index));
}
