import type { Outrider, RunAgentRequest } from "@outrider/sdk";
import { type Command, Option } from "commander";
import { type Context, clientCommand, withClient } from "../client-command.ts";
import { Complaint } from "../exit.ts";
import { attachmentsOf } from "../input/attachments.ts";
import { limitsOf, runLimits } from "../input/limits.ts";
import { mcpServersOf } from "../input/mcp.ts";
import { environmentId } from "../input/named.ts";
import { asNumber, collect, given, pairsOf } from "../input/pairs.ts";
import { readObject, readText } from "../input/text.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { follow } from "../transcript/follow.ts";

export interface WatchFlags {
  follow?: true;
  wait?: true;
  timeout?: number;
  full?: true;
}

interface RunFlags extends WatchFlags {
  name?: string;
  env?: string;
  model?: string;
  basePrompt?: string;
  skill?: string;
  mcp?: string[];
  title?: string;
  limit?: string[];
  attach?: string[];
  schema?: string;
  metadata?: string[];
  priority?: number;
  idle?: number;
}

export function addWatchOptions(command: Command): Command {
  return command
    .addOption(new Option("-f, --follow", "show what it does until it ends").conflicts("wait"))
    .option("-w, --wait", "wait until it ends, then print the agent's last words, or what fits --schema")
    .option("--timeout <seconds>", "how long to follow or wait; the run goes on", asNumber("--timeout"))
    .option("--full", "while following: all output and whole patches");
}

export const runCommand = addWatchOptions(
  clientCommand("run", "Start an agent.")
    .argument("<prompt>", "what it is to do; @path reads a file, - reads stdin")
    .option("--name <label>", "label for grouping and filtering")
    .option("--env <environment>", "where it runs, by name or id; else an empty workspace without network")
    .option("--model <id>", "one of `outrider model list`")
    .option("--base-prompt <text>", "shapes its behaviour; @path reads a file")
    .option("--skill <spec>", "owner/repo:skill-name, or owner/repo:path/to/SKILL.md")
    .option("--mcp <server>", "a JSON file, name=https://… or name=command; repeatable", collect)
    .option("--title <text>", "else made from the prompt's first line")
    .option("--limit <name=number>", `${runLimits.join(", ")}; repeatable`, collect)
    .option("--attach <file>", "at most 5 files of 10 MiB in all; repeatable", collect)
    .option("--schema <file>", "a JSON Schema that the answer must fit")
    .option("--metadata <key=value>", "your own labels; repeatable", collect)
    .option("--priority <number>", "-10 to 10; higher is taken first", asNumber("--priority"))
    .option("--idle <minutes>", "how long its sandbox is kept after the end", asNumber("--idle")),
).action(
  withClient<RunFlags>(async (context, prompt) => {
    const { client, out, flags } = context;
    checkWatch(flags);
    const { run_id, state, at_capacity } = await client.runs.create(
      await requestOf(client, flags, await readText(prompt as string)),
    );
    if (flags.follow || flags.wait) return watch(context, run_id);
    const done = {
      document: { run_id, state, at_capacity },
      id: run_id,
      says: run_id,
    };
    out.done(done);
    if (out.isJson) return;
    if (at_capacity) out.say("No worker can take it at once: it waits in the queue.");
    out.say(`Watch it with: outrider runs logs -f ${harmlessLine(run_id)}`);
  }),
);

export async function watch(
  { client, out, flags }: Context<WatchFlags>,
  runId: string,
  after?: number,
): Promise<void> {
  if (flags.follow) out.say(`Run ${harmlessLine(runId)}`);
  await follow({
    ...{ client, out, runId, isFull: flags.full === true, isSilent: flags.wait === true },
    ...{ timeoutSeconds: flags.timeout, ...(after === undefined ? {} : { after }) },
  });
}

/** Before anything is started: a flag that would do nothing was meant to do something. */
export function checkWatch({ follow, wait, timeout, full }: WatchFlags): void {
  if (timeout !== undefined && !follow && !wait)
    throw new Complaint("--timeout is for --follow and --wait; a run's own is --limit timeout_minutes=….");
  if (timeout !== undefined && !(timeout > 0)) throw new Complaint("--timeout takes seconds above 0.");
  if (full && !follow) throw new Complaint("--full is for --follow.");
}

async function requestOf(client: Outrider, flags: RunFlags, prompt: string): Promise<RunAgentRequest> {
  const config = given({
    name: flags.name,
    environment_id: flags.env === undefined ? undefined : await environmentId(client, flags.env),
    model_id: flags.model,
    base_prompt: flags.basePrompt === undefined ? undefined : await readText(flags.basePrompt),
    skill_spec: flags.skill,
    mcp_servers: await mcpServersOf(flags.mcp),
    idle_timeout_minutes: flags.idle,
  });
  const members = given({
    title: flags.title,
    limits: limitsOf(flags.limit, runLimits),
    attachments: attachmentsOf(flags.attach),
    output_schema: flags.schema === undefined ? undefined : await readObject(flags.schema),
    metadata: flags.metadata && pairsOf("--metadata", flags.metadata),
    priority: flags.priority,
  });
  return { prompt, ...members, ...(Object.keys(config).length > 0 ? { config } : {}) };
}
