import type { Person, Role } from "@outrider/sdk";
import { Command, Option } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { Complaint } from "../exit.ts";
import { confirm } from "../input/ask.ts";
import { findPerson } from "../input/named.ts";
import { given } from "../input/pairs.ts";
import type { Output } from "../terminal/output.ts";

const roles = ["member", "admin"] as const;
const whom = ["<person>", "their e-mail address or uid"] as const;

/** Prints a link that nobody can be told a second time. */
function printLink(out: Output, document: { link?: string; expires_at: string }, email: string) {
  if (!document.link)
    throw new Complaint(
      `The link was made, but its answer was lost: \`outrider people link ${email}\` makes another.`,
    );
  if (out.isJson) return out.document(document);
  out.print(document.link);
  out.say(`Hand it to ${email}: it opens once, until ${document.expires_at}, and is not shown again.`);
}

const list = clientCommand("list", "List people.").action(
  withClient(async ({ client, out }) => {
    const document = await client.people.list();
    out.list<Person>({
      ...{ document, rows: document.people, id: ({ uid }) => uid, none: "No people." },
      columns: [
        { title: "PERSON", text: ({ uid }) => uid },
        { title: "E-MAIL", text: ({ email }) => email, gives: true },
        { title: "NAME", text: ({ display_name }) => display_name, gives: true },
        { title: "ROLE", text: ({ role }) => role },
        { title: "PASSWORD", text: ({ has_password }) => (has_password ? "set" : "none") },
        { title: "SEEN", text: ({ last_seen_at }) => last_seen_at },
      ],
    });
  }),
);

const invite = clientCommand("invite", "Invite a person and print a one-time sign-in link, this once.")
  .argument("<email>", "their e-mail address")
  .requiredOption("--name <name>", "how the person is shown")
  .addOption(new Option("--role <role>", "what the person may do").choices(roles).default("member"))
  .action(
    withClient<{ name: string; role: Role }>(async ({ client, out, flags }, address) => {
      const email = address as string;
      const { name, role } = flags;
      printLink(out, await client.people.invite({ email, display_name: name, role }), email);
    }),
  );

const update = clientCommand("update", "Change a person's name or role.")
  .argument(...whom)
  .option("--name <name>", "how the person is shown")
  .addOption(new Option("--role <role>", "what the person may do").choices(roles))
  .action(
    withClient<{ name?: string; role?: Role }>(async ({ client, out, flags }, person) => {
      const { name, role } = flags;
      if (name === undefined && role === undefined)
        throw new Complaint("Nothing to change: give --name or --role.");
      const { uid } = await findPerson(client, person as string);
      const document = await client.people.update(uid, given({ display_name: name, role }));
      out.done({ document, id: uid, says: `${document.display_name} is ${document.role}.` });
    }),
  );

const remove = clientCommand("delete", "Delete a person: sessions and keys end at once, runs stay.")
  .argument(...whom)
  .option("-y, --yes", "do not ask")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, person) => {
      const { uid, email } = await findPerson(client, person as string);
      await confirm(`Delete ${email}, their sessions and their keys`, flags);
      await client.people.delete(uid);
      out.done({ document: { uid, deleted: true }, id: uid, says: "Deleted." });
    }),
  );

const link = clientCommand("link", "Print a new one-time sign-in link for a person, this once.")
  .argument(...whom)
  .action(
    withClient(async ({ client, out }, person) => {
      const { uid, email } = await findPerson(client, person as string);
      printLink(out, await client.people.link(uid), email);
    }),
  );

export const peopleCommand = new Command("people")
  .description("Who may use a server: invite, change, delete.")
  .addCommand(list)
  .addCommand(invite)
  .addCommand(update)
  .addCommand(remove)
  .addCommand(link);
