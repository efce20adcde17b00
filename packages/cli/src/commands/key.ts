import type { Key, KeyType, Scope } from "@outrider/sdk";
import { Command, Option } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { Complaint } from "../exit.ts";
import { confirm } from "../input/ask.ts";
import { keyLimits, limitsOf } from "../input/limits.ts";
import { environmentId, findAgent } from "../input/named.ts";
import { collect, given } from "../input/pairs.ts";
import { harmlessLine } from "../terminal/harmless.ts";

interface CreateFlags {
  type: KeyType;
  agent?: string;
  scope?: Scope[];
  expires?: string;
  limit?: string[];
  env?: string[];
}

const list = clientCommand("list", "List your keys and your cloud agents'; an admin sees all.").action(
  withClient(async ({ client, out }) => {
    const document = await client.keys.list();
    out.list<Key>({
      ...{ document, rows: document.keys, id: ({ key_id }) => key_id, none: "No keys." },
      columns: [
        { title: "KEY", text: ({ key_id }) => key_id },
        { title: "BEGINS", text: ({ prefix }) => prefix },
        { title: "TYPE", text: ({ type }) => type },
        { title: "NAME", text: ({ name }) => name, gives: true },
        { title: "SCOPES", text: ({ scopes }) => scopes.join(","), gives: true },
        { title: "LAST USED", text: ({ last_used_at }) => last_used_at },
        { title: "EXPIRES", text: ({ expires_at }) => expires_at },
      ],
    });
  }),
);

const create = clientCommand("create", "Make a key and print it, this once.")
  .argument("<name>", "what it is for")
  .addOption(
    new Option("--type <type>", "whose it is").choices(["personal", "agent", "worker"]).default("personal"),
  )
  .option("--agent <agent>", "the cloud agent of an agent key, by name or uid")
  .option("--scope <scope>", "runs:read, runs:write, admin; repeatable; else all that you have", collect)
  .option("--expires <time>", "RFC 3339, as in 2030-01-01T00:00:00Z")
  .option("--limit <name=number>", `${keyLimits.join(", ")}; repeatable`, collect)
  .option("--env <environment>", "the only environments it may use, by name or id; repeatable", collect)
  .action(
    withClient<CreateFlags>(async ({ client, out, flags }, name) => {
      const { type, agent, scope, expires, env } = flags;
      const ids = env && (await Promise.all(env.map((each) => environmentId(client, each))));
      const limits = { ...limitsOf(flags.limit, keyLimits), ...(ids ? { environment_ids: ids } : {}) };
      const document = await client.keys.create({
        ...{ name: name as string, type },
        ...given({
          agent_uid: agent === undefined ? undefined : (await findAgent(client, agent)).uid,
          scopes: scope,
          expires_at: expires,
          limits: Object.keys(limits).length > 0 ? limits : undefined,
        }),
      });
      const { key, key_id } = document;
      // A retried request finds the key made, but nobody can tell it a second time.
      if (!key)
        throw new Complaint(`The key was made, but its answer was lost: revoke ${key_id} and make another.`);
      if (out.isJson) return out.document(document);
      out.print(harmlessLine(key));
      out.say(`Key ${key_id}: store it now, it is not shown again.`);
    }),
  );

const revoke = clientCommand("revoke", "Revoke a key at once.")
  .argument("<key>", "its id, as `outrider key list` shows it")
  .option("-y, --yes", "do not ask")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const key_id = given as string;
      if (/^or[paw]_/.test(key_id))
        throw new Complaint("That is a key itself: name it by its id, as `outrider key list` shows it.");
      await confirm(`Revoke key ${key_id}`, flags);
      await client.keys.delete(key_id);
      out.done({ document: { key_id, revoked: true }, id: key_id, says: "Revoked." });
    }),
  );

export const keyCommand = new Command("key")
  .description("API keys.")
  .addCommand(list)
  .addCommand(create)
  .addCommand(revoke);
