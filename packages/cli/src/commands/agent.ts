import type { CloudAgent, CloudAgentRequest, Outrider } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { Complaint } from "../exit.ts";
import { confirm } from "../input/ask.ts";
import { environmentId, findAgent } from "../input/named.ts";
import { asNumber, given } from "../input/pairs.ts";
import type { Output } from "../terminal/output.ts";

interface AgentFlags {
  name?: string;
  description?: string;
  model?: string;
  env?: string;
  maxConcurrentRuns?: number;
}

function addMembers(command: Command): Command {
  return command
    .option("--description <text>", "what it is for")
    .option("--model <id>", "for its runs that name none")
    .option("--env <environment>", "for its runs that name none, by name or id")
    .option(
      "--max-concurrent-runs <number>",
      "how many of its runs may be at work",
      asNumber("--max-concurrent-runs"),
    );
}

async function membersOf(client: Outrider, flags: AgentFlags): Promise<Partial<CloudAgentRequest>> {
  return given({
    name: flags.name,
    description: flags.description,
    model_id: flags.model,
    environment_id: flags.env === undefined ? undefined : await environmentId(client, flags.env),
    max_concurrent_runs: flags.maxConcurrentRuns,
  });
}

function show(out: Output, agent: CloudAgent): void {
  out.item({
    document: agent,
    id: agent.uid,
    members: [
      ["uid", agent.uid],
      ["name", agent.name],
      ["description", agent.description],
      ["model", agent.model_id],
      ["environment", agent.environment_id],
      ["runs at once", agent.max_concurrent_runs?.toString()],
      ["owner", agent.owner_uid],
      ["updated", agent.updated_at],
    ],
  });
}

const list = clientCommand("list", "List cloud agents.").action(
  withClient(async ({ client, out }) => {
    const document = await client.identities.list();
    out.list<CloudAgent>({
      ...{ document, rows: document.identities, id: ({ uid }) => uid, none: "No cloud agents." },
      columns: [
        { title: "UID", text: ({ uid }) => uid },
        { title: "NAME", text: ({ name }) => name },
        { title: "MODEL", text: ({ model_id }) => model_id },
        { title: "DESCRIPTION", text: ({ description }) => description, gives: true },
      ],
    });
  }),
);

const get = clientCommand("get", "Show a cloud agent.")
  .argument("<agent>", "its name or uid")
  .action(withClient(async ({ client, out }, agent) => show(out, await findAgent(client, agent as string))));

const create = addMembers(clientCommand("create", "Make a cloud agent.").argument("<name>")).action(
  withClient<AgentFlags>(async ({ client, out, flags }, name) => {
    const members = await membersOf(client, flags);
    show(out, await client.identities.create({ ...members, name: name as string }));
  }),
);

const update = addMembers(
  clientCommand("update", "Change what is given of a cloud agent.")
    .argument("<agent>", "its name or uid")
    .option("--name <name>", "a new one"),
).action(
  withClient<AgentFlags>(async ({ client, out, flags }, agent) => {
    const members = await membersOf(client, flags);
    if (Object.keys(members).length === 0) throw new Complaint("Nothing to change was given: see --help.");
    const {
      uid,
      owner_uid: _,
      created_at: __,
      updated_at: ___,
      ...rest
    } = await findAgent(client, agent as string);
    show(out, await client.identities.replace(uid, { ...rest, ...members }));
  }),
);

const remove = clientCommand("delete", "Delete a cloud agent and revoke its keys.")
  .argument("<agent>", "its name or uid")
  .option("-y, --yes", "do not ask")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, agent) => {
      const { uid, name } = await findAgent(client, agent as string);
      await confirm(`Delete cloud agent ${name} and revoke its keys`, flags);
      await client.identities.delete(uid);
      out.done({ document: { uid, deleted: true }, id: uid, says: `Deleted ${name}.` });
    }),
  );

export const agentCommand = new Command("agent")
  .description("Cloud agents: identities that are not people.")
  .addCommand(list)
  .addCommand(get)
  .addCommand(create)
  .addCommand(update)
  .addCommand(remove);
