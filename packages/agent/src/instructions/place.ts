import type { Network } from "@outrider/contract/environment";
import type { CheckedOut } from "@outrider/contract/run";
import type { z } from "zod";

/** Facts about where the agent works. */
export interface Place {
  /** The folder in which commands start. */
  workspace: string;
  home: string;
  /** As it calls itself; Linux where nobody has asked. */
  system?: string | undefined;
  /** Programs that were looked for and found. */
  programs?: readonly string[] | undefined;
  repositories: readonly CheckedOut[];
  network: z.infer<typeof Network>;
  /** Names alone. */
  variables: readonly string[];
  secrets: readonly string[];
  limits: { max_steps: number; max_cost_usd?: number | undefined; timeout_minutes: number };
  /** As 2026-01-31. */
  date: string;
}

export function placeText(place: Place): string {
  const { workspace, home, system = "Linux", programs = [], repositories, limits } = place;
  const lines = [
    `System: ${system}. Your home folder is ${home}.`,
    `Commands start in ${workspace}, and paths are relative to it. ${contents(repositories)}`,
    ...repositories.map((repository) => `  - ${repositoryText(workspace, repository)}`),
    `Network: ${networkText(place)}`,
    ...(programs.length > 0 ? [`Programs that are there, among others: ${programs.join(", ")}.`] : []),
    ...namesText("Environment variables that are set for you", place.variables),
    ...namesText("Secrets, set as environment variables whose values must not be shown", place.secrets),
    `Limits of this turn: ${limitsText(limits)}. Before one is reached, wrap up.`,
    `Today is ${place.date}.`,
  ];
  return ["# Where you are", ...lines.map((line) => (line.startsWith(" ") ? line : `- ${line}`))].join("\n");
}

function contents(repositories: readonly CheckedOut[]): string {
  if (repositories.length === 0) return "No repository was put there.";
  return repositories.length === 1 ? "It holds a git repository:" : "It holds git repositories:";
}

function repositoryText(workspace: string, { url, path, commit, ref }: CheckedOut): string {
  const at = ref?.startsWith("refs/heads/")
    ? `on branch ${ref.slice("refs/heads/".length)}`
    : `without a branch${ref ? ` (${ref.replace(/^refs\/tags\//, "tag ")})` : ""}`;
  return `${workspace}/${path}: ${url}, ${at}, at commit ${commit.slice(0, 12)}`.replace("/.:", ":");
}

function networkText({ network }: Place): string {
  if (network.mode === "none") return "none. Nothing outside of the sandbox can be reached.";
  if (network.mode === "open")
    return "open, by a proxy that the environment names; private addresses are refused.";
  return `only these hosts, by a proxy that the environment names: ${(network.allow ?? []).join(", ") || "none"}.`;
}

function namesText(what: string, names: readonly string[]): string[] {
  return names.length > 0 ? [`${what}: ${[...names].sort().join(", ")}.`] : [];
}

function limitsText({ max_steps, max_cost_usd, timeout_minutes }: Place["limits"]): string {
  const cost = max_cost_usd === undefined ? [] : [`${max_cost_usd} US dollars`];
  const time = `${timeout_minutes} ${timeout_minutes === 1 ? "minute" : "minutes"}`;
  return [`${max_steps} model calls`, ...cost, time].join(", ");
}
