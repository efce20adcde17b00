import type { CloudEnvironmentRequest, EnvironmentNetwork, EnvironmentRepository } from "@outrider/sdk";
import { type Command, Option } from "commander";
import { Complaint } from "../exit.ts";
import { asNumber, collect, given, pairsOf } from "./pairs.ts";
import { readObject } from "./text.ts";

export interface EnvironmentFlags {
  name?: string;
  description?: string;
  repo?: string[];
  setup?: string[];
  variable?: string[];
  secret?: string[];
  network?: EnvironmentNetwork["mode"];
  allow?: string[];
  cpus?: number;
  memoryMb?: number;
  pids?: number;
  diskMb?: number;
  timeoutMinutes?: number;
  maxConcurrentRuns?: number;
  input?: string;
}

/** What says something about the environment, as against how the command behaves. */
export const environmentFlags: readonly string[] = [
  ...["name", "description", "repo", "setup", "variable", "secret", "network", "allow", "cpus", "memoryMb"],
  ...["pids", "diskMb", "timeoutMinutes", "maxConcurrentRuns", "input"],
];

export function addEnvironmentOptions(command: Command): Command {
  return command
    .option("--description <text>", "what it is for")
    .option(
      "--repo <repository>",
      "owner/name or an address, with #ref where not the default; repeatable",
      collect,
    )
    .option("--setup <command>", "run once when it is built; repeatable, in order", collect)
    .option("--variable <name=value>", "for the run's processes; repeatable", collect)
    .option("--secret <name>", "one of `outrider secret list`, as a variable; repeatable", collect)
    .addOption(new Option("--network <mode>", "what runs may reach").choices(["open", "allowlist", "none"]))
    .option("--allow <domain>", "with --network allowlist; repeatable", collect)
    .option("--cpus <number>", "processors for a sandbox", asNumber("--cpus"))
    .option("--memory-mb <number>", "memory for a sandbox", asNumber("--memory-mb"))
    .option("--pids <number>", "processes in a sandbox", asNumber("--pids"))
    .option("--disk-mb <number>", "disk for a sandbox", asNumber("--disk-mb"))
    .option("--timeout-minutes <number>", "of a turn, where the run sets none", asNumber("--timeout-minutes"))
    .option(
      "--max-concurrent-runs <number>",
      "how many may be at work in it",
      asNumber("--max-concurrent-runs"),
    )
    .option("--input <file>", "members as a JSON object, below what flags say; - reads stdin");
}

/** What the flags say, on top of what was there before. A list that is given replaces the one before. */
export async function environmentOf(
  flags: EnvironmentFlags,
  before: Partial<CloudEnvironmentRequest> = {},
): Promise<Partial<CloudEnvironmentRequest>> {
  const file =
    flags.input === undefined ? {} : ((await readObject(flags.input)) as Partial<CloudEnvironmentRequest>);
  const base = { ...before, ...file };
  const resources = given({
    cpus: flags.cpus,
    memory_mb: flags.memoryMb,
    pids: flags.pids,
    disk_mb: flags.diskMb,
  });
  return {
    ...base,
    ...given({
      name: flags.name,
      description: flags.description,
      repos: flags.repo?.map(repositoryOf),
      setup_commands: flags.setup,
      variables: flags.variable && pairsOf("--variable", flags.variable),
      secrets: flags.secret,
      network: networkOf(flags, base.network),
      resources: Object.keys(resources).length > 0 ? { ...base.resources, ...resources } : undefined,
      timeout_minutes: flags.timeoutMinutes,
      max_concurrent_runs: flags.maxConcurrentRuns,
    }),
  };
}

function networkOf(
  { network, allow }: EnvironmentFlags,
  before: EnvironmentNetwork | undefined,
): EnvironmentNetwork | undefined {
  if (network === undefined && allow === undefined) return undefined;
  const mode = network ?? before?.mode;
  if (allow && mode !== "allowlist") throw new Complaint("--allow goes with --network allowlist.");
  return { mode: mode ?? "none", ...(allow ? { allow } : {}) };
}

/** More about one, its path or the secret to fetch it with, goes through --input. */
function repositoryOf(text: string): EnvironmentRepository {
  const [, where = "", ref] = /^([^#]+)(?:#(.+))?$/.exec(text) ?? [];
  const rest = ref === undefined ? {} : { ref };
  const [, owner, repo] = /^([\w.-]+)\/([\w.-]+)$/.exec(where) ?? [];
  if (owner && repo) return { owner, repo, ...rest };
  if (/^(https?|ssh|file):\/\/|^[\w.-]+@[\w.-]+:/.test(where)) return { url: where, ...rest };
  throw new Complaint(`--repo takes owner/name or an address, not ${JSON.stringify(text)}.`);
}
