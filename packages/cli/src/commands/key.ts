import type { Key, KeyType, Scope } from "@outrider/sdk";
import { Command, Option } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { UsageError } from "../exit-codes.ts";
import { keyLimits, parseLimits } from "../input/limits.ts";
import { collect, omitUndefined } from "../input/pairs.ts";
import { confirm } from "../input/prompt.ts";
import { findEnvironmentId, findIdentity } from "../input/resolve-names.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";

interface CreateFlags {
  type: KeyType;
  agent?: string;
  scope?: Scope[];
  expires?: string;
  limit?: string[];
  env?: string[];
}

const list = clientCommand("list", "List your keys and those of your cloud agents. Admins see all keys.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.keys.list();
      out.list<Key>({
        ...{ document, rows: document.keys, id: ({ key_id }) => key_id, emptyMessage: "No keys." },
        columns: [
          { title: "KEY", text: ({ key_id }) => key_id },
          { title: "PREFIX", text: ({ prefix }) => prefix },
          { title: "TYPE", text: ({ type }) => type },
          { title: "NAME", text: ({ name }) => name, canShrink: true },
          { title: "SCOPES", text: ({ scopes }) => scopes.join(","), canShrink: true },
          { title: "LAST USED", text: ({ last_used_at }) => last_used_at },
          { title: "EXPIRES", text: ({ expires_at }) => expires_at },
        ],
      });
    }),
  );

const create = clientCommand("create", "Create a key and print it. The key is shown only once.")
  .argument("<name>", "name of the key")
  .addOption(
    new Option("--type <type>", "type of the key")
      .choices(["personal", "agent", "worker"])
      .default("personal"),
  )
  .option("--agent <agent>", "cloud agent of an agent key, by name or uid")
  .option(
    "--scope <scope>",
    "runs:read, runs:write or admin; repeatable; default: all of your scopes",
    collect,
  )
  .option("--expires <time>", "expiry time, such as 2030-01-01T00:00:00Z")
  .option("--limit <name=number>", `limit of the key: ${keyLimits.join(", ")}; repeatable`, collect)
  .option("--env <environment>", "allow only this environment, by name or ID; repeatable", collect)
  .action(
    withClient<CreateFlags>(async ({ client, out, flags }, name) => {
      const { type, agent, scope, expires, env } = flags;
      const ids =
        env && (await Promise.all(env.map((environment) => findEnvironmentId(client, environment))));
      const limits = { ...parseLimits(flags.limit, keyLimits), ...(ids ? { environment_ids: ids } : {}) };
      const document = await client.keys.create({
        ...{ name: name as string, type },
        ...omitUndefined({
          agent_uid: agent === undefined ? undefined : (await findIdentity(client, agent)).uid,
          scopes: scope,
          expires_at: expires,
          limits: Object.keys(limits).length > 0 ? limits : undefined,
        }),
      });
      const { key, key_id } = document;
      // The response to a retried request does not contain the raw key.
      if (!key)
        throw new UsageError(
          `The key was created, but the response was lost. Revoke ${key_id} and create another key.`,
        );
      if (out.isJson) return out.document(document);
      out.print(sanitizeLine(key));
      out.note(`Created key ${key_id}. Store it now; it is not shown again.`);
    }),
  );

const revoke = clientCommand("revoke", "Revoke a key. It stops working immediately.")
  .argument("<key>", "key ID, as shown by `outrider key list`")
  .option("-y, --yes", "skip the confirmation")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const key_id = given as string;
      if (/^or[paw]_/.test(key_id))
        throw new UsageError("Pass the ID of the key, not the key itself. See `outrider key list`.");
      await confirm(`Revoke key ${key_id}`, flags);
      await client.keys.delete(key_id);
      out.done({ document: { key_id, revoked: true }, id: key_id, message: "Revoked." });
    }),
  );

export const keyCommand = new Command("key")
  .description("Manage API keys.")
  .addCommand(list)
  .addCommand(create)
  .addCommand(revoke);
