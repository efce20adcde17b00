import type { CloudEnvironmentRequest } from "@outrider/sdk";
import { clientCommand, withClient } from "../../client-command.ts";
import { UsageError } from "../../exit-codes.ts";
import {
  addEnvironmentOptions,
  buildEnvironmentRequest,
  type EnvironmentFlags,
  environmentFlags,
} from "../../input/environment.ts";
import { confirm } from "../../input/prompt.ts";
import { findEnvironment } from "../../input/resolve-names.ts";
import { addProposedSettings } from "./propose.ts";
import { showEnvironment } from "./read.ts";

export const createCommand = addEnvironmentOptions(
  clientCommand("create", "Create an environment.")
    .argument("<name>")
    .option("--propose", "add what the lock files of the first repository suggest")
    .option("-y, --yes", "accept what --propose finds without confirmation"),
).action(
  withClient<EnvironmentFlags & { propose?: true; yes?: true }>(async ({ client, out, flags }, name) => {
    const given = await buildEnvironmentRequest(flags);
    const fields = flags.propose
      ? await addProposedSettings(client, out, { fields: given, yes: flags.yes })
      : given;
    const body = { ...fields, name: name as string };
    showEnvironment(out, await client.environments.create(body));
  }),
);

export const updateCommand = addEnvironmentOptions(
  clientCommand("update", "Update an environment. Only the given fields change.")
    .argument("<environment>", "environment name or ID")
    .option("--name <name>", "new name"),
).action(
  withClient<EnvironmentFlags>(async ({ client, out, flags }, given) => {
    if (Object.keys(flags).every((name) => !environmentFlags.includes(name)))
      throw new UsageError("Nothing to update. Pass at least one option; see --help.");
    const environment = await findEnvironment(client, given as string);
    const {
      environment_id,
      version: _,
      build: __,
      created_at: ___,
      updated_at: ____,
      ...before
    } = environment;
    const body = await buildEnvironmentRequest(flags, before);
    showEnvironment(out, await client.environments.replace(environment_id, body as CloudEnvironmentRequest));
  }),
);

export const deleteCommand = clientCommand("delete", "Delete an environment.")
  .argument("<environment>", "environment name or ID")
  .option("-y, --yes", "skip the confirmation")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const { environment_id, name } = await findEnvironment(client, given as string);
      await confirm(`Delete environment ${name}`, flags);
      await client.environments.delete(environment_id);
      out.done({
        document: { environment_id, deleted: true },
        id: environment_id,
        message: `Deleted environment ${name}.`,
      });
    }),
  );
