import type { Network } from "@outrider/contract/environment";
import type { CheckedOutRepository } from "@outrider/contract/run";
import type { z } from "zod";

const MAX_START_COMMANDS = 10;
const MAX_COMMAND_CHARACTERS = 200;

/** Facts about the agent's environment. */
export interface EnvironmentFacts {
  workspace: string;
  /** The folder in which commands start: the only repository, or the workspace. */
  working_folder: string;
  home: string;
  /** The name of the operating system; Linux if unknown. */
  system?: string | undefined;
  /** Whether the system comes from an image, so that it can be changed. */
  hasImage?: boolean;
  /** The shell that runs commands, if it is not bash. */
  shell?: string | undefined;
  /** Well-known programs that are installed. */
  programs?: readonly string[] | undefined;
  repositories: readonly CheckedOutRepository[];
  network: z.infer<typeof Network>;
  /** The names of the environment variables, without their values. */
  variables: readonly string[];
  secrets: readonly string[];
  /** The commands that ran when the sandbox was opened. */
  start_commands?: readonly string[] | undefined;
  /** The names of the checks that run after edits. */
  checks?: readonly string[] | undefined;
  /** The commands of checks that the agent runs itself. */
  check_commands?: readonly string[] | undefined;
  limits: { max_steps: number; max_cost_usd?: number | undefined; timeout_minutes: number };
  /** The current date, for example 2026-01-31. */
  date: string;
}

export function environmentText(facts: EnvironmentFacts): string {
  const { workspace, working_folder, home, system = "Linux", programs = [], repositories, limits } = facts;
  const lines = [
    `System: ${system}. Your home folder is ${home}.`,
    `If the sandbox is created anew, ${workspace} and your home are restored. ${facts.hasImage ? "You can install packages and change the system, but other changes to it" : "Files elsewhere"} are lost then.`,
    ...(facts.shell
      ? [`Commands run with ${facts.shell}: bash is not installed, so use only the syntax of sh.`]
      : []),
    `Commands start in ${working_folder}, and paths are relative to it. ${repositoriesText(facts)}`,
    ...repositories.map((repository) => `  - ${repositoryText(workspace, repository)}`),
    `Network: ${networkText(facts)}`,
    ...(programs.length > 0 ? [`Installed programs include: ${programs.join(", ")}.`] : []),
    ...namesText("Environment variables set for you", facts.variables),
    ...namesText("Secrets, set as environment variables; never show their values", facts.secrets),
    ...startCommandsText(facts.start_commands ?? []),
    ...checksText(facts.checks ?? []),
    ...checkCommandsText(facts.check_commands ?? []),
    `Limits of this turn: ${limitsText(limits)}. Wrap up before you reach one.`,
    `Today is ${facts.date}.`,
  ];
  return ["# Your environment", ...lines.map((line) => (line.startsWith(" ") ? line : `- ${line}`))].join(
    "\n",
  );
}

function repositoriesText({ repositories, workspace, working_folder }: EnvironmentFacts): string {
  if (repositories.length === 0) return "It contains no repository.";
  if (working_folder !== workspace) return "It is a git repository, the only one in the workspace:";
  return repositories.length === 1 ? "It contains a git repository:" : "It contains git repositories:";
}

function repositoryText(workspace: string, { url, path, commit, ref }: CheckedOutRepository): string {
  const position = ref?.startsWith("refs/heads/")
    ? `on branch ${ref.slice("refs/heads/".length)}`
    : `not on a branch${ref ? ` (${ref.replace(/^refs\/tags\//, "tag ")})` : ""}`;
  return `${workspace}/${path}: ${url}, ${position}, at commit ${commit.slice(0, 12)}`.replace("/.:", ":");
}

/** The tools in the sandbox are configured to use what these stand for. */
const presetTexts: Record<string, string> = {
  "preset:npm": "npm's registries",
  "preset:pypi": "pip's indexes",
  "preset:go": "Go's module proxies",
  "preset:crates": "cargo's registries",
  "preset:maven": "Maven's repositories",
  "preset:debian": "apt's repositories",
  "preset:git": "the git host",
};

function networkText({ network }: EnvironmentFacts): string {
  if (network.mode === "none") return "none. You cannot reach anything outside the sandbox.";
  if (network.mode === "open")
    return "open, through the proxy in the environment variables; private addresses are blocked.";
  const allow = network.allow ?? [];
  const hosts = allow.map((entry) => presetTexts[entry] ?? entry);
  const tcp = allow.some((entry) => /:\d+$/.test(entry))
    ? " Programs that know no proxy, such as database clients, can connect to hosts with a port by their name."
    : "";
  return `only these hosts, through the proxy in the environment variables: ${hosts.join(", ") || "none"}.${tcp}`;
}

function namesText(label: string, names: readonly string[]): string[] {
  return names.length > 0 ? [`${label}: ${[...names].sort().join(", ")}.`] : [];
}

function startCommandsText(commands: readonly string[]): string[] {
  if (commands.length === 0) return [];
  const shown = commands.slice(0, MAX_START_COMMANDS).map(shortCommand);
  const more = commands.length - shown.length;
  return [
    `Commands that run before your first command whenever the sandbox starts, so the services that they start are running: ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`,
  ];
}

function shortCommand(command: string): string {
  const [first = ""] = command.trim().split("\n");
  const isShort = first.length <= MAX_COMMAND_CHARACTERS && first === command.trim();
  return isShort ? `\`${first}\`` : `\`${first.slice(0, MAX_COMMAND_CHARACTERS)} …\``;
}

function checksText(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [
    `Checks that run after you edit a file, with their new findings in the result of the edit: ${names.join(", ")}.`,
  ];
}

function checkCommandsText(commands: readonly string[]): string[] {
  if (commands.length === 0) return [];
  const placeholder = commands.some((command) => command.includes("{files}"))
    ? " ({files} stands for the files)"
    : "";
  return [`Checks to run after you edit files${placeholder}: ${commands.map(shortCommand).join(", ")}.`];
}

function limitsText({ max_steps, max_cost_usd, timeout_minutes }: EnvironmentFacts["limits"]): string {
  const cost = max_cost_usd === undefined ? [] : [`${max_cost_usd} US dollars`];
  const time = `${timeout_minutes} ${timeout_minutes === 1 ? "minute" : "minutes"}`;
  return [`${max_steps} model calls`, ...cost, time].join(", ");
}
