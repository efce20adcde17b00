import { PASSPHRASE_LENGTH } from "@outrider/server/engine/backup/sealed-key";
import { Complaint } from "../exit.ts";
import { ask, canAsk } from "./ask.ts";
import { readFileOrComplain } from "./text.ts";

const VARIABLE = "OUTRIDER_BACKUP_PASSPHRASE";

/** From a file, from the environment, or from who sits there. Never from an argument, which everybody on a machine sees. */
export async function readPassphrase({ file, isNew }: { file?: string; isNew: boolean }): Promise<string> {
  const given = file === undefined ? process.env[VARIABLE] : readFileOrComplain(file).toString("utf8");
  const passphrase = given?.replace(/\r?\n$/, "") || (await typed(isNew));
  if (isNew && passphrase.length < PASSPHRASE_LENGTH)
    throw new Complaint(`The passphrase must have at least ${PASSPHRASE_LENGTH} characters.`);
  return passphrase;
}

async function typed(isNew: boolean): Promise<string> {
  if (!canAsk())
    throw new Complaint(`The master key needs a passphrase: say --passphrase-file, or set ${VARIABLE}.`);
  const first = await ask("Passphrase of the master key: ", { isHidden: true });
  if (isNew && (await ask("Once more: ", { isHidden: true })) !== first)
    throw new Complaint("The two are not the same.");
  return first;
}
