import { readConfig } from "@outrider/server/config";
import { linkFor } from "@outrider/server/engine/sign-in-links";
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

const jsonOption = ["--json", "as one JSON document"] as const;

function printKey(key: string, email: string, json: true | undefined) {
  console.log(json ? JSON.stringify({ email, key }) : key);
}

const add = new Command("add")
  .description("Add a person and print their first key, once.")
  .argument("<email>")
  .requiredOption("--name <name>", "how the person is shown")
  .addOption(
    new Option("--role <role>", "what the person may do").choices(["member", "admin"]).default("member"),
  )
  .option(...jsonOption)
  .action((email: string, { name, role, json }: { name: string; role: "member" | "admin"; json?: true }) =>
    withDatabase(async (db) => {
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Error(`${email} is not an e-mail address.`);
      printKey(await addPerson(db, { email, display_name: name, role }), email, json);
    }),
  );

const key = new Command("key")
  .description("Print a new personal key for somebody, once.")
  .argument("<email>")
  .option("--name <name>", "what the key is for", "made by the operator")
  .option(...jsonOption)
  .action((email: string, { name, json }: { name: string; json?: true }) =>
    withDatabase(async (db) => printKey(await addKey(db, email, name), email, json)),
  );

const link = new Command("link")
  .description("Print a one-time sign-in link for somebody, once.")
  .argument("<email>")
  .option(...jsonOption)
  .action((email: string, { json }: { json?: true }) =>
    withDatabase(async (db) => {
      const { link: address, expires_at } = await linkFor(db, email);
      console.log(json ? JSON.stringify({ email, link: address, expires_at }) : address);
    }),
  );

const list = new Command("list")
  .description("List people.")
  .option(...jsonOption)
  .action(({ json }: { json?: true }) =>
    withDatabase(async (db) => {
      const people = await listPeople(db);
      if (json) console.log(JSON.stringify({ people }));
      else
        for (const { email, display_name, role } of people) console.log(`${email}\t${display_name}\t${role}`);
    }),
  );

export const personCommand = new Command("person")
  .description("People of this installation, on its own machine.")
  .addCommand(add)
  .addCommand(key)
  .addCommand(link)
  .addCommand(list);
