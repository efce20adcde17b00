import type { Secret } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { confirm, isInteractive, prompt } from "../input/prompt.ts";
import { readStdin } from "../input/text.ts";

const list = clientCommand("list", "List secrets by name. Values are never shown.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.secrets.list();
      out.list<Secret>({
        ...{ document, rows: document.secrets, id: ({ name }) => name, emptyMessage: "No secrets." },
        columns: [
          { title: "NAME", text: ({ name }) => name },
          { title: "UPDATED", text: ({ updated_at }) => updated_at },
        ],
      });
    }),
  );

const set = clientCommand(
  "set",
  "Create or replace a secret. Prompts for the value, or reads it from stdin without the final line break.",
)
  .argument("<name>")
  .action(
    withClient(async ({ client, out }, name) => {
      const value = isInteractive()
        ? await prompt(`Value of ${name} (not shown): `, { isHidden: true })
        : (await readStdin()).replace(/\r?\n$/, "");
      const document = await client.secrets.put(name as string, { value });
      out.done({ document, id: document.name, message: `Stored secret ${document.name}.` });
    }),
  );

const remove = clientCommand("delete", "Delete a secret that no environment uses.")
  .argument("<name>")
  .option("-y, --yes", "skip the confirmation")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const name = given as string;
      await confirm(`Delete secret ${name}`, flags);
      await client.secrets.delete(name);
      out.done({ document: { name, deleted: true }, id: name, message: `Deleted secret ${name}.` });
    }),
  );

export const secretCommand = new Command("secret")
  .description("Manage secrets. Values can be set but never read.")
  .addCommand(list)
  .addCommand(set)
  .addCommand(remove);
