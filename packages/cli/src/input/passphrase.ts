import { MIN_PASSPHRASE_LENGTH } from "@outrider/server/engine/operations/backup/sealed-key";
import { UsageError } from "../exit-codes.ts";
import { isInteractive, prompt } from "./prompt.ts";
import { readFileOrFail } from "./text.ts";

const VARIABLE = "OUTRIDER_BACKUP_PASSPHRASE";

/**
 * Reads the passphrase from a file, the environment or the terminal. It cannot be passed as an argument, because other
 * users of the machine can see arguments.
 */
export async function readPassphrase({ file, isNew }: { file?: string; isNew: boolean }): Promise<string> {
  const given = file === undefined ? process.env[VARIABLE] : readFileOrFail(file).toString("utf8");
  const passphrase = given?.replace(/\r?\n$/, "") || (await promptForPassphrase(isNew));
  if (isNew && passphrase.length < MIN_PASSPHRASE_LENGTH)
    throw new UsageError(`The passphrase must have at least ${MIN_PASSPHRASE_LENGTH} characters.`);
  return passphrase;
}

async function promptForPassphrase(isNew: boolean): Promise<string> {
  if (!isInteractive())
    throw new UsageError(`The master key requires a passphrase. Use --passphrase-file or set ${VARIABLE}.`);
  const first = await prompt("Passphrase for the master key: ", { isHidden: true });
  if (isNew && (await prompt("Repeat the passphrase: ", { isHidden: true })) !== first)
    throw new UsageError("Passphrases do not match.");
  return first;
}
