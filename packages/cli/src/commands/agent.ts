import type { Identity, IdentityRequest, Outrider, ReasoningEffort } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { UsageError } from "../exit-codes.ts";
import { numberParser, omitUndefined } from "../input/pairs.ts";
import { confirm } from "../input/prompt.ts";
import { reasoningEffortOption } from "../input/reasoning-effort.ts";
import { findEnvironmentId, findIdentity } from "../input/resolve-names.ts";
import type { Output } from "../terminal/output.ts";

interface AgentFlags {
  name?: string;
  description?: string;
  model?: string;
  reasoningEffort?: ReasoningEffort;
  harness?: string;
  env?: string;
  maxConcurrentRuns?: number;
}

function addIdentityOptions(command: Command): Command {
  return command
    .option("--description <text>", "description of the cloud agent")
    .option("--model <id>", "default model of its runs")
    .addOption(reasoningEffortOption("default reasoning effort of its runs"))
    .option("--harness <name>", "default harness of its runs, from `outrider harness list`")
    .option("--env <environment>", "default environment of its runs, by name or ID")
    .option(
      "--max-concurrent-runs <number>",
      "maximum number of concurrent runs",
      numberParser("--max-concurrent-runs"),
    );
}

async function buildFields(client: Outrider, flags: AgentFlags): Promise<Partial<IdentityRequest>> {
  return omitUndefined({
    name: flags.name,
    description: flags.description,
    model_id: flags.model,
    reasoning_effort: flags.reasoningEffort,
    harness: flags.harness,
    environment_id: flags.env === undefined ? undefined : await findEnvironmentId(client, flags.env),
    max_concurrent_runs: flags.maxConcurrentRuns,
  });
}

function show(out: Output, agent: Identity): void {
  out.item({
    document: agent,
    id: agent.uid,
    fields: [
      ["uid", agent.uid],
      ["name", agent.name],
      ["description", agent.description],
      ["model", agent.model_id],
      ["reasoning effort", agent.reasoning_effort],
      ["harness", agent.harness],
      ["environment", agent.environment_id],
      ["max concurrent runs", agent.max_concurrent_runs?.toString()],
      ["owner", agent.owner_uid],
      ["updated", agent.updated_at],
    ],
  });
}

const list = clientCommand("list", "List cloud agents.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.identities.list();
      out.list<Identity>({
        ...{ document, rows: document.agents, id: ({ uid }) => uid, emptyMessage: "No cloud agents." },
        columns: [
          { title: "UID", text: ({ uid }) => uid },
          { title: "NAME", text: ({ name }) => name },
          { title: "MODEL", text: ({ model_id }) => model_id },
          { title: "DESCRIPTION", text: ({ description }) => description, canShrink: true },
        ],
      });
    }),
  );

const get = clientCommand("get", "Show a cloud agent.")
  .alias("view")
  .argument("<agent>", "name or uid of the cloud agent")
  .action(
    withClient(async ({ client, out }, agent) => show(out, await findIdentity(client, agent as string))),
  );

const create = addIdentityOptions(clientCommand("create", "Create a cloud agent.").argument("<name>")).action(
  withClient<AgentFlags>(async ({ client, out, flags }, name) => {
    const fields = await buildFields(client, flags);
    show(out, await client.identities.create({ ...fields, name: name as string }));
  }),
);

const update = addIdentityOptions(
  clientCommand("update", "Update a cloud agent. Only the given fields change.")
    .argument("<agent>", "name or uid of the cloud agent")
    .option("--name <name>", "new name"),
).action(
  withClient<AgentFlags>(async ({ client, out, flags }, agent) => {
    const fields = await buildFields(client, flags);
    if (Object.keys(fields).length === 0)
      throw new UsageError("Nothing to update. Pass at least one option; see --help.");
    const {
      uid,
      owner_uid: _,
      created_at: __,
      updated_at: ___,
      ...rest
    } = await findIdentity(client, agent as string);
    show(out, await client.identities.replace(uid, { ...rest, ...fields }));
  }),
);

const remove = clientCommand("delete", "Delete a cloud agent and revoke its keys.")
  .argument("<agent>", "name or uid of the cloud agent")
  .option("-y, --yes", "skip the confirmation")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, agent) => {
      const { uid, name } = await findIdentity(client, agent as string);
      await confirm(`Delete cloud agent ${name} and revoke its keys`, flags);
      await client.identities.delete(uid);
      out.done({ document: { uid, deleted: true }, id: uid, message: `Deleted cloud agent ${name}.` });
    }),
  );

export const agentCommand = new Command("agent")
  .description("Manage cloud agents. A cloud agent is a non-human identity that owns runs.")
  .addCommand(list)
  .addCommand(get)
  .addCommand(create)
  .addCommand(update)
  .addCommand(remove);
