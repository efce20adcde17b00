import type { Outrider } from "@outrider/sdk";
import type { Command } from "commander";
import { environmentId } from "./named.ts";
import { collect, given, pairsOf } from "./pairs.ts";

/** The filters of runs, for every command that chooses some. */
export interface RunFilterFlags {
  state?: string[];
  name?: string[];
  model?: string[];
  creator?: string[];
  source?: string[];
  env?: string[];
  skill?: string[];
  createdAfter?: string;
  createdBefore?: string;
  updatedAfter?: string;
  metadata?: string[];
  search?: string;
}

export const runFilterNames: readonly (keyof RunFilterFlags)[] = [
  ...(["state", "name", "model", "creator", "source", "env", "skill"] as const),
  ...(["createdAfter", "createdBefore", "updatedAfter", "metadata", "search"] as const),
];

export function addRunFilter(command: Command, states: string): Command {
  return command
    .option("--state <state>", `${states}; repeatable`, collect)
    .option("--name <label>", "as given to `run --name`; repeatable", collect)
    .option("--model <id>", "as resolved; repeatable", collect)
    .option("--creator <who>", "a uid, an e-mail address, or me; repeatable", collect)
    .option("--source <source>", "WEB_APP, CLI, GITHUB_ACTION, API; repeatable", collect)
    .option("--env <environment>", "by name or id; repeatable", collect)
    .option("--skill <spec>", "as given to `run --skill`; repeatable", collect)
    .option("--created-after <time>", "a date or a time, inclusive")
    .option("--created-before <time>", "a date or a time, exclusive")
    .option("--updated-after <time>", "a date or a time, inclusive")
    .option("--metadata <key=value>", "repeatable; all must match", collect)
    .option("--search <words>", "in title, prompt and skill");
}

export async function runFilterOf(client: Outrider, flags: RunFilterFlags) {
  const environments = flags.env?.map((each) => environmentId(client, each));
  return given({
    state: flags.state?.map((state) => state.toUpperCase()),
    config_name: flags.name,
    model_id: flags.model,
    creator: flags.creator,
    source: flags.source?.map((source) => source.toUpperCase()),
    environment_id: environments && (await Promise.all(environments)),
    skill_spec: flags.skill,
    created_after: flags.createdAfter,
    created_before: flags.createdBefore,
    updated_after: flags.updatedAfter,
    metadata: flags.metadata && pairsOf("--metadata", flags.metadata),
    q: flags.search,
  });
}
