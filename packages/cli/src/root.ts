interface Entry {
  group: string;
  description: string;
}

const work = "Runs";
const around = "Around runs";
const you = "You";
const operate = "Operate";

/** The commands in the order of the help. */
export const entries = {
  run: {
    group: work,
    description: "Start an agent.",
  },
  runs: {
    group: work,
    description: "List, watch, steer and end runs.",
  },
  artifact: {
    group: work,
    description: "Files that runs have left.",
  },
  env: {
    group: around,
    description: "Environments: what runs execute in.",
  },
  secret: {
    group: around,
    description: "Values for environments. They go in and never come out.",
  },
  skill: {
    group: around,
    description: "Skills that runs can use.",
  },
  model: {
    group: around,
    description: "Models that runs can use.",
  },
  agent: {
    group: around,
    description: "Cloud agents: identities that are not people.",
  },
  key: {
    group: around,
    description: "API keys.",
  },
  login: {
    group: you,
    description: "Store a server's address and a key for it.",
  },
  logout: {
    group: you,
    description: "Forget a stored key.",
  },
  me: {
    group: you,
    description: "Say who the key speaks for, and what it may do.",
  },
  api: {
    group: you,
    description: "Call any path of the API.",
  },
  completion: {
    group: you,
    description: "Print the completion for a shell.",
  },
  serve: {
    group: operate,
    description: "Start the service in the foreground.",
  },
  worker: {
    group: operate,
    description: "Take runs from a server and execute them.",
  },
  workers: {
    group: operate,
    description: "The workers of a server.",
  },
  installation: {
    group: operate,
    description: "Say which limits and retention hold here, and what is stopped.",
  },
  brake: {
    group: operate,
    description: "Pause new runs, or all writing, on every server.",
  },
  people: {
    group: operate,
    description: "Who may use a server: invite, change, delete.",
  },
  person: {
    group: operate,
    description: "People of this installation, on its own machine.",
  },
  backup: {
    group: operate,
    description: "Write all of this installation into one file.",
  },
  restore: {
    group: operate,
    description: "Make an installation out of a backup.",
  },
  doctor: {
    group: operate,
    description: "Say what this machine offers to a server and to runs, and what is missing.",
  },
} as const satisfies Record<string, Entry>;

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
