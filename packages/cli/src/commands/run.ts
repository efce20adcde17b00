import { type SandboxKind, sandboxKinds } from "@outrider/contract/sandbox-kind";
import type { Outrider, PublishKind, ReasoningEffort, RunAgentRequest, Template } from "@outrider/sdk";
import { type Command, Option } from "commander";
import { type Context, clientCommand, withClient } from "../client-command.ts";
import { UsageError } from "../exit-codes.ts";
import { readAttachments } from "../input/attachments.ts";
import { parseLabels } from "../input/labels.ts";
import { parseLimits, runLimits } from "../input/limits.ts";
import { parseMcpServers } from "../input/mcp.ts";
import { collect, numberParser, omitUndefined, parsePairs } from "../input/pairs.ts";
import { reasoningEffortOption } from "../input/reasoning-effort.ts";
import { findEnvironmentId } from "../input/resolve-names.ts";
import { readTemplate } from "../input/template.ts";
import { readObject, readText } from "../input/text.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
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
  reasoningEffort?: ReasoningEffort;
  harness?: string;
  sandbox?: SandboxKind;
  workerHost?: string;
  workerSelector?: string[];
  basePrompt?: string;
  skill?: string;
  mcp?: string[];
  title?: string;
  limit?: string[];
  attach?: string[];
  schema?: string;
  metadata?: string[];
  priority?: number;
  publish?: PublishKind;
  idle?: number;
  template?: string;
  var?: string[];
}

export function addWatchOptions(command: Command): Command {
  return command
    .addOption(new Option("-f, --follow", "follow the run until it ends").conflicts("wait"))
    .option("-w, --wait", "wait until the run ends, then print the final answer, or the output for --schema")
    .option(
      "--timeout <seconds>",
      "stop following or waiting after this time; the run continues",
      numberParser("--timeout"),
    )
    .option("--full", "with --follow: show all output and full patches");
}

export const runCommand = addWatchOptions(
  clientCommand("run", "Start a run.")
    .argument("[prompt]", "task for the agent; @path reads a file, - reads stdin; optional with --skill")
    .option("--name <label>", "label for grouping and filtering")
    .option("--env <environment>", "environment name or ID; default: an empty workspace without network")
    .option("--model <id>", "model or alias from `outrider model list`")
    .addOption(reasoningEffortOption("how much the model reasons"))
    .option(
      "--harness <name>",
      "agent program from `outrider harness list`; default: outrider, the built-in agent",
    )
    .option("--worker-host <pool>", "pool whose workers execute the run; default: that of the environment")
    .option(
      "--worker-selector <name=value>",
      "label that the worker must have, such as region=eu; without a value: true; repeatable",
      collect,
    )
    .addOption(
      new Option("--sandbox <kind>", "kind of sandbox; default: that of the environment, then any").choices([
        ...sandboxKinds,
      ]),
    )
    .option("--base-prompt <text>", "instructions that shape the behavior; @path reads a file")
    .option("--skill <spec>", "owner/repo:skill-name, or owner/repo:path/to/SKILL.md")
    .option(
      "--mcp <server>",
      "MCP server as a JSON file, name=https://… or name=command; repeatable",
      collect,
    )
    .option("--title <text>", "title; default: first line of the prompt")
    .option("--limit <name=number>", `limit of the run: ${runLimits.join(", ")}; repeatable`, collect)
    .option("--attach <file>", "file to attach, at most 5 and 10 MiB in total; repeatable", collect)
    .option("--schema <file>", "JSON Schema that the final answer must match")
    .option("--metadata <key=value>", "custom metadata; repeatable", collect)
    .addOption(
      new Option("--publish <kind>", "publish the changes when the run succeeds").choices([
        ...["none", "branch", "pull_request", "draft_pull_request"],
      ]),
    )
    .option("--priority <number>", "-10 to 10; higher starts first", numberParser("--priority"))
    .option("--idle <minutes>", "how long to keep the sandbox after the run ends", numberParser("--idle"))
    .option("--template <template>", "name or ID of a prompt template, instead of a prompt")
    .option("--var <name=value>", "value of a variable of the template; repeatable", collect),
).action(
  withClient<RunFlags>(async (context, prompt) => {
    const { client, out, flags } = context;
    validateWatchFlags(flags);
    if (prompt !== undefined && flags.template !== undefined)
      throw new UsageError("Pass a prompt or --template, not both.");
    const filled = await readTemplate(client, flags);
    const written = prompt === undefined ? filled?.prompt : await readText(prompt);
    const { run_id, state, at_capacity } = await client.runs.create(
      await buildRequest(client, flags, { prompt: written, config: filled?.template.config }),
    );
    if (flags.follow || flags.wait) return watch(context, run_id);
    const done = {
      document: { run_id, state, at_capacity },
      id: run_id,
      message: run_id,
    };
    out.done(done);
    if (out.isJson) return;
    if (at_capacity) out.note("No worker is available; the run is queued.");
    out.note(`Follow it with: outrider runs logs -f ${sanitizeLine(run_id)}`);
  }),
);

export async function watch(
  { client, out, flags }: Context<WatchFlags>,
  runId: string,
  after?: number,
): Promise<void> {
  if (flags.follow) out.note(`Run ${sanitizeLine(runId)}`);
  await follow({
    ...{ client, out, runId, isFull: flags.full === true, isSilent: flags.wait === true },
    ...{ timeoutSeconds: flags.timeout, ...(after === undefined ? {} : { after }) },
  });
}

/** Rejects flags that would have no effect, before the run is created. */
export function validateWatchFlags({ follow, wait, timeout, full }: WatchFlags): void {
  if (timeout !== undefined && !follow && !wait)
    throw new UsageError(
      "--timeout requires --follow or --wait. To limit the run itself, use --limit timeout_minutes=….",
    );
  if (timeout !== undefined && !(timeout > 0)) throw new UsageError("--timeout must be greater than 0.");
  if (full && !follow) throw new UsageError("--full requires --follow.");
}

async function buildRequest(
  client: Outrider,
  flags: RunFlags,
  { prompt, config: defaults }: { prompt: string | undefined; config: Template["config"] },
): Promise<RunAgentRequest> {
  const given = omitUndefined({
    name: flags.name,
    environment_id: flags.env === undefined ? undefined : await findEnvironmentId(client, flags.env),
    model_id: flags.model,
    reasoning_effort: flags.reasoningEffort,
    harness: flags.harness,
    sandbox: flags.sandbox,
    worker_host: flags.workerHost,
    worker_selector: flags.workerSelector && parseLabels(flags.workerSelector),
    base_prompt: flags.basePrompt === undefined ? undefined : await readText(flags.basePrompt),
    skill_spec: flags.skill,
    mcp_servers: await parseMcpServers(flags.mcp),
    publish: flags.publish,
    idle_timeout_minutes: flags.idle,
  });
  const config = { ...defaults, ...given };
  const fields = omitUndefined({
    title: flags.title,
    limits: parseLimits(flags.limit, runLimits),
    attachments: readAttachments(flags.attach),
    output_schema: flags.schema === undefined ? undefined : await readObject(flags.schema),
    metadata: flags.metadata && parsePairs("--metadata", flags.metadata),
    priority: flags.priority,
  });
  if (prompt !== undefined)
    return { prompt, ...fields, ...(Object.keys(config).length > 0 ? { config } : {}) };
  if (flags.skill === undefined)
    throw new UsageError("A run needs a prompt or a skill. Pass the prompt, or --skill with a skill.");
  return { ...fields, config: { ...config, skill_spec: flags.skill } };
}
