interface Entry {
  group: string;
  description: string;
}

const runs = "Runs";
const resources = "Resources";
const account = "Account";
const operate = "Operations";

/** The commands, in the order in which the help lists them. */
export const entries = {
  run: {
    group: runs,
    description: "Start a run.",
  },
  runs: {
    group: runs,
    description: "List, follow, steer, publish and cancel runs.",
  },
  artifact: {
    group: runs,
    description: "Download files that runs produced.",
  },
  eval: {
    group: runs,
    description: "Evaluate models and harnesses on tasks.",
  },
  env: {
    group: resources,
    description: "Manage environments.",
  },
  connect: {
    group: resources,
    description: "Connect a forge, so that runs can push branches and open pull requests.",
  },
  forges: {
    group: resources,
    description: "List, test and disconnect forges.",
  },
  secret: {
    group: resources,
    description: "Manage secrets.",
  },
  template: {
    group: resources,
    description: "Manage prompt templates.",
  },
  skill: {
    group: resources,
    description: "List skills.",
  },
  harness: {
    group: resources,
    description: "List and install harnesses.",
  },
  model: {
    group: resources,
    description: "List models, and connect their providers.",
  },
  agent: {
    group: resources,
    description: "Manage cloud agents.",
  },
  key: {
    group: resources,
    description: "Manage API keys.",
  },
  login: {
    group: account,
    description: "Log in to a server.",
  },
  logout: {
    group: account,
    description: "Log out of a server.",
  },
  me: {
    group: account,
    description: "Show the current user, key and permissions.",
  },
  api: {
    group: account,
    description: "Send a request to the API.",
  },
  completion: {
    group: account,
    description: "Generate a shell completion script.",
  },
  serve: {
    group: operate,
    description: "Start the server.",
  },
  worker: {
    group: operate,
    description: "Start a worker.",
  },
  workers: {
    group: operate,
    description: "List and drain workers.",
  },
  usage: {
    group: operate,
    description: "Show runs, success, durations, tokens and cost over time.",
  },
  installation: {
    group: operate,
    description: "Show limits, retention and maintenance status.",
  },
  maintenance: {
    group: operate,
    description: "Pause new runs or all writes.",
  },
  users: {
    group: operate,
    description: "Manage users.",
  },
  admin: {
    group: operate,
    description: "Manage users, keys and migrations directly in the database.",
  },
  backup: {
    group: operate,
    description: "Back up the installation to a file.",
  },
  restore: {
    group: operate,
    description: "Restore the installation from a backup.",
  },
  blobs: {
    group: operate,
    description: "Move the files of runs to another storage.",
  },
  doctor: {
    group: operate,
    description: "Check this machine and its configuration.",
  },
} as const satisfies Record<string, Entry>;

/** The options of every command that calls the API. They can appear before or after the command name. */
export const globalOptions: readonly [flags: string, description: string][] = [
  ["--json", "print JSON; with --follow, one event per line"],
  ["--jq <filter>", "print JSON, filtered with a jq expression"],
  ["-q, --quiet", "print only IDs and data"],
  ["--no-color", "disable colors (also NO_COLOR; FORCE_COLOR enables them)"],
  ["--profile <name>", "login profile to use (OUTRIDER_PROFILE)"],
  ["--server <url>", "server to connect to (OUTRIDER_BASE_URL)"],
];

export const rootOptions: readonly [flags: string, description: string][] = [
  ["-V, --version", "print the version"],
  ["-h, --help", "show help for a command"],
];

/** Returns the top-level help. Builds it from tables, because loading the parser would be slow. */
export function rootHelp(): string {
  const groups = Map.groupBy(Object.entries(entries), ([, { group }]) => group);
  const sections: [title: string, rows: readonly (readonly [string, string])[]][] = [
    ...[...groups].map(([title, all]): [string, [string, string][]] => [
      title,
      all.map(([name, { description }]) => [name, description]),
    ]),
    ["Global options", [...globalOptions, ...rootOptions]],
  ];
  const longest = Math.max(...sections.flatMap(([, rows]) => rows.map(([term]) => term.length)));
  const shown = sections.map(([title, rows]) =>
    [`${title}:`, ...rows.map(([term, text]) => `  ${term.padEnd(longest)}  ${text}`)].join("\n"),
  );
  return `Usage: outrider COMMAND

Run coding agents. See \`outrider COMMAND --help\` for details.

${shown.join("\n\n")}
`;
}
