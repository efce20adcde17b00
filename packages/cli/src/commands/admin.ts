import { readConfig } from "@outrider/server/config";
import { createSignInLinkFor } from "@outrider/server/engine/auth/sign-in-links";
import { addKey, addUser } from "@outrider/server/engine/operations/bootstrap";
import { findEmbedded } from "@outrider/server/postgres/embedded-postgres";
import { listUsers } from "@outrider/server/store/auth/users";
import { openDb } from "@outrider/server/store/connection/db";
import { migrate } from "@outrider/server/store/migrate";
import { Command, Option } from "commander";
import { directUrlOf, locationOptions, withInstallation } from "../with-installation.ts";

type Db = ReturnType<typeof openDb>;

/** Runs a task with the installation's database. Admin commands run on the server's machine and need no API key. */
async function withDatabase(work: (db: Db) => Promise<void>) {
  const config = readConfig();
  const { dataDir } = config;
  const target = directUrlOf(config) ?? (await findEmbedded(dataDir));
  if (!target)
    throw new Error(
      `No server is running with the data directory ${dataDir}. Start it first, or set DATABASE_URL or OUTRIDER_DATA_DIR.`,
    );
  const db = openDb(target, { connections: 1, applicationName: "outrider-cli" });
  try {
    await work(db);
  } finally {
    await db.end();
  }
}

const jsonOption = ["--json", "print JSON"] as const;

function printKey(key: string, email: string, json: true | undefined) {
  console.log(json ? JSON.stringify({ email, key }) : key);
}

const addUserCommand = new Command("add-user")
  .description("Add a user and print their first API key. The key is shown only once.")
  .argument("<email>")
  .requiredOption("--name <name>", "display name of the user")
  .addOption(new Option("--role <role>", "role of the user").choices(["member", "admin"]).default("member"))
  .option(...jsonOption)
  .action((email: string, { name, role, json }: { name: string; role: "member" | "admin"; json?: true }) =>
    withDatabase(async (db) => {
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Error(`${email} is not a valid email address.`);
      printKey(await addUser(db, { email, display_name: name, role }), email, json);
    }),
  );

const createKeyCommand = new Command("create-key")
  .description("Create a personal key for a user and print it. The key is shown only once.")
  .argument("<email>")
  .option("--name <name>", "name of the key", "created by the operator")
  .option(...jsonOption)
  .action((email: string, { name, json }: { name: string; json?: true }) =>
    withDatabase(async (db) => printKey(await addKey(db, email, name), email, json)),
  );

const signInLinkCommand = new Command("sign-in-link")
  .description("Create a one-time sign-in link for a user and print it.")
  .argument("<email>")
  .option(...jsonOption)
  .action((email: string, { json }: { json?: true }) =>
    withDatabase(async (db) => {
      const { link, expires_at } = await createSignInLinkFor(db, email);
      console.log(json ? JSON.stringify({ email, link, expires_at }) : link);
    }),
  );

const listUsersCommand = new Command("list-users")
  .description("List users.")
  .option(...jsonOption)
  .action(({ json }: { json?: true }) =>
    withDatabase(async (db) => {
      const users = await listUsers(db);
      if (json) console.log(JSON.stringify({ users }));
      else
        for (const { email, display_name, role } of users) console.log(`${email}\t${display_name}\t${role}`);
    }),
  );

const migrateCommand = new Command("migrate")
  .description(
    "Apply this version's database migrations before an upgrade. Servers of the previous version can keep running.",
  )
  .option(...(locationOptions[0] as [string, string]))
  .option(...(locationOptions[1] as [string, string]))
  .option(...jsonOption)
  .action((flags: { dataDir?: string; databaseUrl?: string; json?: true }) =>
    withInstallation(flags, async ({ withDb }) => {
      const applied = await withDb(migrate);
      if (flags.json) console.log(JSON.stringify({ applied }));
      else if (applied.length === 0) console.log("The database is up to date.");
      else for (const name of applied) console.log(name);
    }),
  );

export const adminCommand = new Command("admin")
  .description(
    "Manage users, keys and migrations directly in the database. Run this command on the server's machine.",
  )
  .addCommand(addUserCommand)
  .addCommand(createKeyCommand)
  .addCommand(signInLinkCommand)
  .addCommand(listUsersCommand)
  .addCommand(migrateCommand);
