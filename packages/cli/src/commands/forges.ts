import type { Forge, ForgeRepository } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { numberParser, omitUndefined } from "../input/pairs.ts";
import { confirm } from "../input/prompt.ts";
import { findForge } from "../input/resolve-forge.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { testForge } from "./forges/test-forge.ts";

const forgeArgument = ["<forge>", "host, or ID or its first characters"] as const;

const list = clientCommand("list", "List connected forges.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.forges.list();
      out.list<Forge>({
        ...{ document, rows: document.forges, id: ({ forge_id }) => forge_id },
        emptyMessage: "No forges. Connect one with `outrider connect github`.",
        columns: [
          { title: "FORGE", text: ({ forge_id }) => forge_id },
          { title: "HOST", text: ({ host }) => host },
          { title: "TYPE", text: ({ type }) => type },
          { title: "AUTH", text: ({ auth }) => auth },
          { title: "ACTS AS", text: ({ login }) => login },
          { title: "TEST", text: testText },
        ],
      });
    }),
  );

const get = clientCommand("get", "Show a forge.")
  .alias("view")
  .argument(...forgeArgument)
  .action(
    withClient(async ({ client, out }, given) => {
      const { forge_id } = await findForge(client, given as string);
      const forge = await client.forges.get(forge_id);
      out.item({
        document: forge,
        id: forge_id,
        fields: [
          ["forge", forge_id],
          ["type", forge.type],
          ["url", forge.url],
          ["auth", forge.auth],
          ["acts as", forge.login],
          ["install at", forge.install_url],
          ["last test", testText(forge)],
          ["connected", forge.created_at],
        ],
      });
    }),
  );

function testText({ last_test }: Forge): string | undefined {
  return (
    last_test && `${last_test.ok ? "passed" : "failed"} ${last_test.tested_at} (${last_test.repository})`
  );
}

const repositories = clientCommand("repositories", "List repositories that Outrider can use.")
  .argument(...forgeArgument)
  .option("--search <text>", "part of the name")
  .option("--page <number>", "page of the list", numberParser("--page"))
  .action(
    withClient<{ search?: string; page?: number }>(async ({ client, out, flags }, given) => {
      const { forge_id } = await findForge(client, given as string);
      const query = omitUndefined({ q: flags.search, page: flags.page });
      const document = await client.forges.repositories(forge_id, query);
      out.list<ForgeRepository>({
        ...{ document, rows: document.repositories, id: ({ repository }) => repository },
        emptyMessage: "No repositories. Check what the token or app has access to.",
        columns: [
          { title: "REPOSITORY", text: ({ repository }) => repository },
          { title: "DEFAULT BRANCH", text: ({ default_branch }) => default_branch },
          { title: "ACCESS", text: ({ can_push }) => (can_push ? "push" : "read") },
          { title: "", text: ({ is_private }) => (is_private ? "private" : "") },
        ],
      });
      if (document.has_more && !out.isJson)
        out.note(`More repositories: use --page ${(flags.page ?? 1) + 1}, or --search.`);
    }),
  );

const test = clientCommand(
  "test",
  "Test clone, push and pull request with a scratch branch, which is then deleted.",
)
  .argument(...forgeArgument)
  .argument("<repository>", "owner and name, such as acme/api")
  .action(
    withClient(async ({ client, out }, given, repository) => {
      const forge = await findForge(client, given as string);
      await testForge({ client, out, forge, repository: repository as string });
    }),
  );

const remove = clientCommand("delete", "Disconnect a forge. Branches and pull requests stay.")
  .argument(...forgeArgument)
  .option("-y, --yes", "skip the confirmation")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const { forge_id, host } = await findForge(client, given as string);
      await confirm(`Disconnect ${sanitizeLine(host)}`, flags);
      await client.forges.delete(forge_id);
      out.done({ document: { forge_id, deleted: true }, id: forge_id, message: `Disconnected ${host}.` });
    }),
  );

export const forgesCommand = new Command("forges")
  .description("List, test and disconnect forges.")
  .addCommand(list)
  .addCommand(get)
  .addCommand(repositories)
  .addCommand(test)
  .addCommand(remove);
