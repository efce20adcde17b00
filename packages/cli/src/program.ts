import { Command } from "commander";
import { addGlobalOptions } from "./client-command.ts";
import { version } from "./version.ts";

interface Entry {
  group: string;
  description: string;
  load: () => Promise<Command>;
}

const work = "Runs:";
const around = "Around runs:";
const operate = "Operate:";
const you = "You:";

/** The commands in the order of the help. Each is loaded when it is called: `--help` must not wait for a server. */
const entries: Record<string, Entry> = {
  run: {
    group: work,
    description: "Start an agent.",
    load: async () => (await import("./commands/run.ts")).runCommand,
  },
  runs: {
    group: work,
    description: "List, watch, steer and end runs.",
    load: async () => (await import("./commands/runs.ts")).runsCommand,
  },
  artifact: {
    group: work,
    description: "Files that runs have left.",
    load: async () => (await import("./commands/artifact.ts")).artifactCommand,
  },
  env: {
    group: around,
    description: "Environments: what runs execute in.",
    load: async () => (await import("./commands/env.ts")).envCommand,
  },
  secret: {
    group: around,
    description: "Values for environments. They go in and never come out.",
    load: async () => (await import("./commands/secret.ts")).secretCommand,
  },
  skill: {
    group: around,
    description: "Skills that runs can use.",
    load: async () => (await import("./commands/skill.ts")).skillCommand,
  },
  model: {
    group: around,
    description: "Models that runs can use.",
    load: async () => (await import("./commands/model.ts")).modelCommand,
  },
  agent: {
    group: around,
    description: "Cloud agents: identities that are not people.",
    load: async () => (await import("./commands/agent.ts")).agentCommand,
  },
  key: {
    group: around,
    description: "API keys.",
    load: async () => (await import("./commands/key.ts")).keyCommand,
  },
  login: {
    group: you,
    description: "Store a server's address and a key for it.",
    load: async () => (await import("./commands/login.ts")).loginCommand,
  },
  logout: {
    group: you,
    description: "Forget a stored key.",
    load: async () => (await import("./commands/logout.ts")).logoutCommand,
  },
  me: {
    group: you,
    description: "Say who the key speaks for, and what it may do.",
    load: async () => (await import("./commands/me.ts")).meCommand,
  },
  api: {
    group: you,
    description: "Call any path of the API.",
    load: async () => (await import("./commands/api.ts")).apiCommand,
  },
  completion: {
    group: you,
    description: "Print the completion for a shell.",
    load: async () => (await import("./commands/completion.ts")).completionCommand,
  },
  serve: {
    group: operate,
    description: "Start the service in the foreground.",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  worker: {
    group: operate,
    description: "Take runs from a server and execute them.",
    load: async () => (await import("./commands/worker.ts")).workerCommand,
  },
  workers: {
    group: operate,
    description: "The workers of a server.",
    load: async () => (await import("./commands/workers.ts")).workersCommand,
  },
  person: {
    group: operate,
    description: "People of this installation, on its own machine.",
    load: async () => (await import("./commands/person.ts")).personCommand,
  },
  doctor: {
    group: operate,
    description: "Say what this machine offers to runs, and what is missing.",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
};

/** The whole tree, or of one command only; the others are then names in the help. */
export async function makeProgram({ only }: { only?: string } = {}): Promise<Command> {
  const program = addGlobalOptions(
    new Command("outrider")
      .description("Runs coding agents on request.")
      .version(version, "-V, --version", "say which version this is")
      .enablePositionalOptions(),
  );
  for (const [name, { group, description, load }] of Object.entries(entries)) {
    const isWanted = only === undefined || only === name;
    const command = isWanted ? await load() : new Command(name).description(description);
    program.addCommand(command.helpGroup(group));
  }
  return program.addHelpText("after", "\nDocumentation: docs/cli.md. `outrider COMMAND --help` says more.");
}

/** The command that the arguments name, if they name one. */
export function namedCommand(args: string[]): string | undefined {
  const isValue = (index: number) => ["--profile", "--server"].includes(args[index - 1] ?? "");
  return args.find((arg, index) => !arg.startsWith("-") && arg !== "help" && !isValue(index));
}
