import type { CloudEnvironmentRequest } from "@outrider/sdk";
import { clientCommand, withClient } from "../../client-command.ts";
import { Complaint } from "../../exit.ts";
import { confirm } from "../../input/ask.ts";
import {
  addEnvironmentOptions,
  type EnvironmentFlags,
  environmentFlags,
  environmentOf,
} from "../../input/environment.ts";
import { findEnvironment } from "../../input/named.ts";
import { showEnvironment } from "./read.ts";

export const createCommand = addEnvironmentOptions(
  clientCommand("create", "Make an environment.").argument("<name>"),
).action(
  withClient<EnvironmentFlags>(async ({ client, out, flags }, name) => {
    const members = await environmentOf(flags);
    const body = { ...members, name: name as string };
    showEnvironment(out, await client.environments.create(body));
  }),
);

export const updateCommand = addEnvironmentOptions(
  clientCommand("update", "Change what is given of an environment; it is one version on.")
    .argument("<environment>", "its name or id")
    .option("--name <name>", "a new one"),
).action(
  withClient<EnvironmentFlags>(async ({ client, out, flags }, given) => {
    if (Object.keys(flags).every((name) => !environmentFlags.includes(name)))
      throw new Complaint("Nothing to change was given: see --help.");
    const environment = await findEnvironment(client, given as string);
    const {
      environment_id,
      version: _,
      build: __,
      created_at: ___,
      updated_at: ____,
      ...before
    } = environment;
    const body = await environmentOf(flags, before);
    showEnvironment(out, await client.environments.replace(environment_id, body as CloudEnvironmentRequest));
  }),
);

export const deleteCommand = clientCommand("delete", "Delete an environment.")
  .argument("<environment>", "its name or id")
  .option("-y, --yes", "do not ask")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const { environment_id, name } = await findEnvironment(client, given as string);
      await confirm(`Delete environment ${name}`, flags);
      await client.environments.delete(environment_id);
      out.done({ document: { environment_id, deleted: true }, id: environment_id, says: `Deleted ${name}.` });
    }),
  );
