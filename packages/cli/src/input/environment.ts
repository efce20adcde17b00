import { type SandboxKind, sandboxKinds } from "@outrider/contract/sandbox-kind";
import type { CloudEnvironmentRequest, EnvironmentNetwork, EnvironmentRepository } from "@outrider/sdk";
import { type Command, Option } from "commander";
import { UsageError } from "../exit-codes.ts";
import { parseLabels } from "./labels.ts";
import { collect, numberParser, omitUndefined, parsePairs } from "./pairs.ts";
import { readObject } from "./text.ts";

export interface EnvironmentFlags {
  name?: string;
  description?: string;
  image?: string;
  devcontainer?: string;
  dockerfile?: string;
  dockerfileContext?: string;
  dockerfileTarget?: string;
  buildArg?: string[];
  imageSecret?: string;
  user?: string;
  repo?: string[];
  setup?: string[];
  start?: string[];
  variable?: string[];
  secret?: string[];
  buildSecret?: string[];
  network?: EnvironmentNetwork["mode"];
  allow?: string[];
  cpus?: number;
  memoryMb?: number;
  pids?: number;
  diskMb?: number;
  workerHost?: string;
  workerSelector?: string[];
  sandbox?: SandboxKind;
  gitAuthor?: string;
  harness?: string;
  timeoutMinutes?: number;
  maxConcurrentRuns?: number;
  input?: string;
}

/** The flags that describe the environment, as opposed to other flags of the command. */
export const environmentFlags: readonly string[] = [
  ...[
    "name",
    "description",
    "image",
    "devcontainer",
    ...["dockerfile", "dockerfileContext", "dockerfileTarget", "buildArg"],
    "imageSecret",
    "user",
    "repo",
    "setup",
    "start",
    "variable",
    "secret",
    "buildSecret",
    "network",
    "allow",
    "cpus",
    "memoryMb",
  ],
  ...["pids", "diskMb", "workerHost", "workerSelector", "sandbox", "gitAuthor", "harness", "timeoutMinutes"],
  ...["maxConcurrentRuns", "input"],
];

export function addEnvironmentOptions(command: Command): Command {
  return command
    .option("--description <text>", "description of the environment")
    .option("--image <reference>", "OCI image that provides the system, such as debian:12")
    .option("--devcontainer <path>", "devcontainer.json in the first repository, instead of an image")
    .option("--dockerfile <path>", "Dockerfile in the first repository, instead of an image")
    .option("--dockerfile-context <folder>", "folder whose files COPY and ADD use; default: the repository")
    .option("--dockerfile-target <stage>", "stage to build; default: the last one")
    .option("--build-arg <name=value>", "value of an ARG of the Dockerfile; repeatable", collect)
    .option("--image-secret <name>", "secret with the registry's credentials")
    .option("--user <user>", "user of the image that runs commands")
    .option(
      "--repo <repository>",
      "repository as owner/name or URL, with an optional #ref; repeatable",
      collect,
    )
    .option("--setup <command>", "setup command to run during the build; repeatable, in order", collect)
    .option(
      "--start <command>",
      "command to run at each start of a sandbox, such as a service; repeatable, in order",
      collect,
    )
    .option(
      "--variable <name=value>",
      "environment variable for setup commands and runs; repeatable",
      collect,
    )
    .option("--secret <name>", "secret to pass to runs as a variable; repeatable", collect)
    .option("--build-secret <name>", "secret to pass to setup commands as a variable; repeatable", collect)
    .addOption(
      new Option("--network <mode>", "network access of runs").choices(["open", "allowlist", "none"]),
    )
    .option(
      "--allow <host>",
      "allowed domain, domain:port or preset such as preset:npm, with --network allowlist; repeatable",
      collect,
    )
    .option("--cpus <number>", "CPU limit of a sandbox", numberParser("--cpus"))
    .option("--memory-mb <number>", "memory limit of a sandbox", numberParser("--memory-mb"))
    .option("--pids <number>", "process limit of a sandbox", numberParser("--pids"))
    .option("--disk-mb <number>", "disk limit of a sandbox", numberParser("--disk-mb"))
    .option("--worker-host <pool>", "pool whose workers execute builds and runs")
    .option(
      "--worker-selector <name=value>",
      "label that the worker must have, such as region=eu; without a value: true; repeatable",
      collect,
    )
    .addOption(
      new Option("--sandbox <kind>", "kind of sandbox of builds and runs; default: any").choices([
        ...sandboxKinds,
      ]),
    )
    .option("--git-author <author>", 'author of commits, as "Name <email>"; default: the run\'s creator')
    .option("--harness <name>", "default harness of runs, from `outrider harness list`")
    .option("--timeout-minutes <number>", "default timeout of a turn", numberParser("--timeout-minutes"))
    .option(
      "--max-concurrent-runs <number>",
      "maximum number of concurrent runs",
      numberParser("--max-concurrent-runs"),
    )
    .option("--input <file>", "JSON file with fields, which flags override; - reads stdin");
}

/** Applies the flags to an existing environment. A list flag replaces the whole list. */
export async function buildEnvironmentRequest(
  flags: EnvironmentFlags,
  before: Partial<CloudEnvironmentRequest> = {},
): Promise<Partial<CloudEnvironmentRequest>> {
  const file =
    flags.input === undefined ? {} : ((await readObject(flags.input)) as Partial<CloudEnvironmentRequest>);
  const base = { ...before, ...file };
  const resources = omitUndefined({
    cpus: flags.cpus,
    memory_mb: flags.memoryMb,
    pids: flags.pids,
    disk_mb: flags.diskMb,
  });
  return {
    ...base,
    ...omitUndefined({
      name: flags.name,
      description: flags.description,
      docker_image: flags.image,
      devcontainer: flags.devcontainer,
      dockerfile: buildDockerfile(flags, base.dockerfile),
      docker_image_secret: flags.imageSecret,
      user: flags.user,
      repos: flags.repo?.map(parseRepository),
      setup_commands: flags.setup,
      start_commands: flags.start,
      variables: flags.variable && parsePairs("--variable", flags.variable),
      secrets: flags.secret,
      build_secrets: flags.buildSecret,
      network: buildNetwork(flags, base.network),
      resources: Object.keys(resources).length > 0 ? { ...base.resources, ...resources } : undefined,
      worker_host: flags.workerHost,
      worker_selector: flags.workerSelector && parseLabels(flags.workerSelector),
      sandbox: flags.sandbox,
      git_author: flags.gitAuthor === undefined ? undefined : parseAuthor(flags.gitAuthor),
      harness: flags.harness,
      timeout_minutes: flags.timeoutMinutes,
      max_concurrent_runs: flags.maxConcurrentRuns,
    }),
  };
}

function buildDockerfile(
  { dockerfile, dockerfileContext, dockerfileTarget, buildArg }: EnvironmentFlags,
  before: CloudEnvironmentRequest["dockerfile"],
): CloudEnvironmentRequest["dockerfile"] {
  const changes = omitUndefined({
    path: dockerfile,
    context: dockerfileContext,
    target: dockerfileTarget,
    args: buildArg && parsePairs("--build-arg", buildArg),
  });
  if (Object.keys(changes).length === 0) return undefined;
  const path = dockerfile ?? before?.path;
  if (path === undefined)
    throw new UsageError("--dockerfile-context, --dockerfile-target and --build-arg need --dockerfile.");
  return { ...before, ...changes, path };
}

function parseAuthor(text: string): NonNullable<CloudEnvironmentRequest["git_author"]> {
  const [, name, email] = /^([^<>]*[^<>\s])\s*<([^<>\s]+)>$/.exec(text.trim()) ?? [];
  if (name && email) return { name, email };
  throw new UsageError(`--git-author must be "Name <email>", not ${JSON.stringify(text)}.`);
}

function buildNetwork(
  { network, allow }: EnvironmentFlags,
  before: EnvironmentNetwork | undefined,
): EnvironmentNetwork | undefined {
  if (network === undefined && allow === undefined) return undefined;
  const mode = network ?? before?.mode;
  if (allow && mode !== "allowlist") throw new UsageError("--allow requires --network allowlist.");
  return { mode: mode ?? "none", ...(allow ? { allow } : {}) };
}

/** Parses a --repo flag. A repository's other fields can be set only with --input. */
export function parseRepository(text: string): EnvironmentRepository {
  const [, location = "", ref] = /^([^#]+)(?:#(.+))?$/.exec(text) ?? [];
  const refField = ref === undefined ? {} : { ref };
  const [, owner, repo] = /^([\w.-]+)\/([\w.-]+)$/.exec(location) ?? [];
  if (owner && repo) return { owner, repo, ...refField };
  if (/^(https?|ssh|file):\/\/|^[\w.-]+@[\w.-]+:/.test(location)) return { url: location, ...refField };
  throw new UsageError(`--repo must be owner/name or a URL, not ${JSON.stringify(text)}.`);
}
