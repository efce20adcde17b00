import type { Command } from "commander";

interface Entry {
  group: string;
  description: string;
  load: () => Promise<Command>;
}

const work = "Runs";
const around = "Around runs";
const you = "You";
const operate = "Operate";

/** The commands in the order of the help. Each is loaded when it is called: `--help` must not wait for a server. */
export const entries: Record<string, Entry> = {
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

/** What every command that speaks to a server takes, before its name or behind it. */
export const globalOptions: readonly [flags: string, description: string][] = [
  ["--json", "one JSON document; while following, one line an event"],
  ["-q, --quiet", "ids and data alone"],
  ["--no-color", "no colours (also NO_COLOR; FORCE_COLOR for the opposite)"],
  ["--profile <name>", "which login to use (OUTRIDER_PROFILE)"],
  ["--server <url>", "which server to ask (OUTRIDER_BASE_URL)"],
];

export const rootOptions: readonly [flags: string, description: string][] = [
  ["-V, --version", "say which version this is"],
  ["-h, --help", "show help, of any command"],
];

/** The first help, from the tables alone: the parser takes longer to load than the rest of the call. */
export function rootHelp(): string {
  const groups = Map.groupBy(Object.entries(entries), ([, { group }]) => group);
  const sections: [title: string, rows: readonly (readonly [string, string])[]][] = [
    ...[...groups].map(([title, all]): [string, [string, string][]] => [
      title,
      all.map(([name, { description }]) => [name, description]),
    ]),
    ["Everywhere", [...globalOptions, ...rootOptions]],
  ];
  const longest = Math.max(...sections.flatMap(([, rows]) => rows.map(([term]) => term.length)));
  const shown = sections.map(([title, rows]) =>
    [`${title}:`, ...rows.map(([term, says]) => `  ${term.padEnd(longest)}  ${says}`)].join("\n"),
  );
  return `Usage: outrider COMMAND

Runs coding agents on request. \`outrider COMMAND --help\` says more.

${shown.join("\n\n")}
`;
}
