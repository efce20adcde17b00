import { readConfig } from "@outrider/server/config";
import { addKey, addPerson } from "@outrider/server/engine/welcome";
import { openDb } from "@outrider/server/store/db";
import { findEmbedded } from "@outrider/server/store/embedded";
import { listPeople } from "@outrider/server/store/people";
import { Command, Option } from "commander";

type Db = ReturnType<typeof openDb>;

/** People are the operator's business: these commands speak to the database of the installation itself. */
async function withDatabase(work: (db: Db) => Promise<void>) {
  const { databaseUrl, dataDir } = readConfig();
  const target = databaseUrl ?? (await findEmbedded(dataDir));
  if (!target)
    throw new Error(
      `No server runs on ${dataDir}. Start it first, or set DATABASE_URL or OUTRIDER_DATA_DIR.`,
    );
  const db = openDb(target, { connections: 1, applicationName: "outrider-cli" });
  try {
    await work(db);
  } finally {
    await db.end();
  }
}

const add = new Command("add")
  .description("Add a person and print their first key, once.")
  .argument("<email>")
  .requiredOption("--name <name>", "how the person is shown")
  .addOption(
    new Option("--role <role>", "what the person may do").choices(["member", "admin"]).default("member"),
  )
  .action((email: string, { name, role }: { name: string; role: "member" | "admin" }) =>
    withDatabase(async (db) => {
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Error(`${email} is not an e-mail address.`);
      console.log(await addPerson(db, { email, display_name: name, role }));
    }),
  );

const key = new Command("key")
  .description("Print a new personal key for somebody, once.")
  .argument("<email>")
  .option("--name <name>", "what the key is for", "made by the operator")
  .action((email: string, { name }: { name: string }) =>
    withDatabase(async (db) => console.log(await addKey(db, email, name))),
  );

const list = new Command("list").description("List people.").action(() =>
  withDatabase(async (db) => {
    for (const { email, display_name, role } of await listPeople(db))
      console.log(`${email}\t${display_name}\t${role}`);
  }),
);

export const personCommand = new Command("person")
  .description("People of this installation, on its own machine.")
  .addCommand(add)
  .addCommand(key)
  .addCommand(list);
