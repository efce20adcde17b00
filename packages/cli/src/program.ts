import { Command } from "commander";
import { addGlobalOptions } from "./global-options.ts";
import { entries, rootHelp, rootOptions } from "./root-help.ts";
import { version } from "./version.ts";

/** Loads each command only when it is called, so that help is fast and does not load the server. */
const loaders: Record<keyof typeof entries, () => Promise<Command>> = {
  run: async () => (await import("./commands/run.ts")).runCommand,
  runs: async () => (await import("./commands/runs.ts")).runsCommand,
  artifact: async () => (await import("./commands/artifact.ts")).artifactCommand,
  eval: async () => (await import("./commands/eval.ts")).evalCommand,
  env: async () => (await import("./commands/env.ts")).envCommand,
  connect: async () => (await import("./commands/connect.ts")).connectCommand,
  forges: async () => (await import("./commands/forges.ts")).forgesCommand,
  secret: async () => (await import("./commands/secret.ts")).secretCommand,
  template: async () => (await import("./commands/template.ts")).templateCommand,
  skill: async () => (await import("./commands/skill.ts")).skillCommand,
  harness: async () => (await import("./commands/harness.ts")).harnessCommand,
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
  maintenance: async () => (await import("./commands/maintenance.ts")).maintenanceCommand,
  workers: async () => (await import("./commands/workers.ts")).workersCommand,
  usage: async () => (await import("./commands/usage.ts")).usageCommand,
  users: async () => (await import("./commands/users.ts")).usersCommand,
  admin: async () => (await import("./commands/admin.ts")).adminCommand,
  backup: async () => (await import("./commands/backup.ts")).backupCommand,
  restore: async () => (await import("./commands/restore.ts")).restoreCommand,
  blobs: async () => (await import("./commands/blobs.ts")).blobsCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
};

/** Creates the command tree. With `only`, loads a single command and adds the others only for the help. */
export async function createProgram({ only }: { only?: string } = {}): Promise<Command> {
  const [[versionFlags, versionText], [helpFlags, helpText]] = rootOptions as [
    [string, string],
    [string, string],
  ];
  const program = addGlobalOptions(
    new Command("outrider")
      .description("Run coding agents.")
      .version(version, versionFlags, versionText)
      .helpOption(helpFlags, helpText)
      .enablePositionalOptions(),
  );
  program.helpInformation = rootHelp;
  // The completion scripts are generated from all commands.
  const loadsAll = only === undefined || only === "completion";
  for (const [name, load] of Object.entries(loaders)) {
    const { description } = entries[name as keyof typeof entries];
    const isNeeded = loadsAll || only === name;
    program.addCommand(isNeeded ? await load() : new Command(name).description(description));
  }
  return program;
}

/** Returns the command name from the arguments, if they contain one. */
export function findCommandName(args: string[]): string | undefined {
  const isValue = (index: number) => ["--jq", "--profile", "--server"].includes(args[index - 1] ?? "");
  return args.find((arg, index) => !arg.startsWith("-") && arg !== "help" && !isValue(index));
}
