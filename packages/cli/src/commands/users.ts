import type { Role, User } from "@outrider/sdk";
import { Command, Option } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { UsageError } from "../exit-codes.ts";
import { omitUndefined } from "../input/pairs.ts";
import { confirm } from "../input/prompt.ts";
import { findUser } from "../input/resolve-names.ts";
import type { Output } from "../terminal/output.ts";

const roles = ["member", "admin"] as const;
const userArgument = ["<user>", "email address or uid"] as const;

/** Prints a sign-in link. Throws if the link is missing, which happens in the response to a retried request. */
function printLink(out: Output, document: { link?: string; expires_at: string }, email: string) {
  if (!document.link)
    throw new UsageError(
      `The link was created, but the response was lost. Run \`outrider users sign-in-link ${email}\` to create another.`,
    );
  if (out.isJson) return out.document(document);
  out.print(document.link);
  out.note(
    `Send this link to ${email}. It works once, expires at ${document.expires_at}, and is not shown again.`,
  );
}

const list = clientCommand("list", "List users.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.users.list();
      out.list<User>({
        ...{ document, rows: document.users, id: ({ uid }) => uid, emptyMessage: "No users." },
        columns: [
          { title: "UID", text: ({ uid }) => uid },
          { title: "EMAIL", text: ({ email }) => email, canShrink: true },
          { title: "NAME", text: ({ display_name }) => display_name, canShrink: true },
          { title: "ROLE", text: ({ role }) => role },
          { title: "PASSWORD", text: ({ has_password }) => (has_password ? "set" : "none") },
          { title: "LAST SEEN", text: ({ last_seen_at }) => last_seen_at },
        ],
      });
    }),
  );

const invite = clientCommand("invite", "Invite a user and print a one-time sign-in link.")
  .argument("<email>", "email address of the user")
  .requiredOption("--name <name>", "display name of the user")
  .addOption(new Option("--role <role>", "role of the user").choices(roles).default("member"))
  .action(
    withClient<{ name: string; role: Role }>(async ({ client, out, flags }, address) => {
      const email = address as string;
      const { name, role } = flags;
      printLink(out, await client.users.invite({ email, display_name: name, role }), email);
    }),
  );

const update = clientCommand("update", "Change the name or role of a user.")
  .argument(...userArgument)
  .option("--name <name>", "display name of the user")
  .addOption(new Option("--role <role>", "role of the user").choices(roles))
  .action(
    withClient<{ name?: string; role?: Role }>(async ({ client, out, flags }, user) => {
      const { name, role } = flags;
      if (name === undefined && role === undefined)
        throw new UsageError("Nothing to update. Pass --name or --role.");
      const { uid } = await findUser(client, user as string);
      const document = await client.users.update(uid, omitUndefined({ display_name: name, role }));
      out.done({ document, id: uid, message: `Updated ${document.display_name} (${document.role}).` });
    }),
  );

const remove = clientCommand("delete", "Delete a user, their sessions and their keys. Their runs are kept.")
  .argument(...userArgument)
  .option("-y, --yes", "skip the confirmation")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, user) => {
      const { uid, email } = await findUser(client, user as string);
      await confirm(`Delete user ${email} with all sessions and keys`, flags);
      await client.users.delete(uid);
      out.done({ document: { uid, deleted: true }, id: uid, message: "Deleted." });
    }),
  );

const signInLink = clientCommand("sign-in-link", "Create a one-time sign-in link for a user and print it.")
  .argument(...userArgument)
  .action(
    withClient(async ({ client, out }, user) => {
      const { uid, email } = await findUser(client, user as string);
      printLink(out, await client.users.link(uid), email);
    }),
  );

export const usersCommand = new Command("users")
  .description("Manage users.")
  .addCommand(list)
  .addCommand(invite)
  .addCommand(update)
  .addCommand(remove)
  .addCommand(signInLink);
