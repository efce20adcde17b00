import type { Secret } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { ask, canAsk, confirm } from "../input/ask.ts";
import { readStdin } from "../input/text.ts";

const list = clientCommand("list", "List the names of secrets.").action(
  withClient(async ({ client, out }) => {
    const document = await client.secrets.list();
    out.list<Secret>({
      ...{ document, rows: document.secrets, id: ({ name }) => name, none: "No secrets." },
      columns: [
        { title: "NAME", text: ({ name }) => name },
        { title: "UPDATED", text: ({ updated_at }) => updated_at },
      ],
    });
  }),
);

const set = clientCommand(
  "set",
  "Store or replace a secret. Its value is asked for, or read from stdin without the line break at its end.",
)
  .argument("<name>")
  .action(
    withClient(async ({ client, out }, name) => {
      const value = canAsk()
        ? await ask(`Value of ${name} (not shown): `, { isHidden: true })
        : (await readStdin()).replace(/\r?\n$/, "");
      const document = await client.secrets.put(name as string, { value });
      out.done({ document, id: document.name, says: `Stored ${document.name}.` });
    }),
  );

const remove = clientCommand("delete", "Delete a secret that no environment uses.")
  .argument("<name>")
  .option("-y, --yes", "do not ask")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const name = given as string;
      await confirm(`Delete secret ${name}`, flags);
      await client.secrets.delete(name);
      out.done({ document: { name, deleted: true }, id: name, says: `Deleted ${name}.` });
    }),
  );

export const secretCommand = new Command("secret")
  .description("Values for environments. They go in and never come out.")
  .addCommand(list)
  .addCommand(set)
  .addCommand(remove);
