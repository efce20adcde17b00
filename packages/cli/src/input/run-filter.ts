import type { Outrider } from "@outrider/sdk";
import type { Command } from "commander";
import { collect, omitUndefined, parsePairs } from "./pairs.ts";
import { findEnvironmentId } from "./resolve-names.ts";
import { timeParser } from "./time.ts";

const TIME = "date, timestamp, or time ago such as 30m, 12h or 7d";

/** The filter flags of commands that select runs. */
export interface RunFilterFlags {
  state?: string[];
  name?: string[];
  model?: string[];
  harness?: string[];
  creator?: string[];
  source?: string[];
  env?: string[];
  skill?: string[];
  createdAfter?: string;
  createdBefore?: string;
  updatedAfter?: string;
  metadata?: string[];
  search?: string;
  artifactType?: string[];
  pullRequestState?: string[];
  errorCode?: string[];
  repository?: string[];
}

export const runFilterNames: readonly (keyof RunFilterFlags)[] = [
  ...(["state", "name", "model", "harness", "creator", "source", "env", "skill"] as const),
  ...(["createdAfter", "createdBefore", "updatedAfter", "metadata", "search"] as const),
  ...(["artifactType", "pullRequestState", "errorCode", "repository"] as const),
];

export function addRunFilter(command: Command, states: string): Command {
  return command
    .option("--state <state>", `run state: ${states}; repeatable`, collect)
    .option("--name <label>", "label, as set with `run --name`; repeatable", collect)
    .option("--model <id>", "resolved model; repeatable", collect)
    .option("--harness <name>", "harness, such as outrider; repeatable", collect)
    .option("--creator <who>", "uid, email address, or me; repeatable", collect)
    .option("--source <source>", "WEB_APP, CLI, GITHUB_ACTION or API; repeatable", collect)
    .option("--env <environment>", "environment name or ID, or none; repeatable", collect)
    .option("--skill <spec>", "skill, as set with `run --skill`; repeatable", collect)
    .option("--created-after <time>", `${TIME}, inclusive`, timeParser("--created-after"))
    .option("--created-before <time>", `${TIME}, exclusive`, timeParser("--created-before"))
    .option("--updated-after <time>", `${TIME}, inclusive`, timeParser("--updated-after"))
    .option("--metadata <key=value>", "metadata pair; repeatable, all must match", collect)
    .option("--search <words>", "full-text search in title, prompt and skill")
    .option("--artifact-type <type>", "runs with a FILE, PATCH or PULL_REQUEST; repeatable", collect)
    .option(
      "--pull-request-state <state>",
      "runs with a pull request that is draft, open, merged or closed; repeatable",
      collect,
    )
    .option("--error-code <code>", "error code of failed runs, such as timeout, or none; repeatable", collect)
    .option("--repository <repository>", "URL, or owner/name, of a repository; repeatable", collect);
}

export async function buildRunFilter(client: Outrider, flags: RunFilterFlags) {
  // An environment that is called "none" can be given by its ID.
  const environments = flags.env?.map((environment) =>
    environment === "none" ? environment : findEnvironmentId(client, environment),
  );
  return omitUndefined({
    state: flags.state?.map((state) => state.toUpperCase()),
    config_name: flags.name,
    model_id: flags.model,
    harness: flags.harness,
    creator: flags.creator,
    source: flags.source?.map((source) => source.toUpperCase()),
    environment_id: environments && (await Promise.all(environments)),
    skill_spec: flags.skill,
    created_after: flags.createdAfter,
    created_before: flags.createdBefore,
    updated_after: flags.updatedAfter,
    metadata: flags.metadata && parsePairs("--metadata", flags.metadata),
    q: flags.search,
    artifact_type: flags.artifactType?.map((type) => type.toUpperCase()),
    error_code: flags.errorCode,
    repository: flags.repository,
    pull_request_state: flags.pullRequestState?.map((state) => state.toLowerCase()),
  });
}
