import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Identity, runAs } from "./identity.ts";

export const superuser = "outrider";

// Case conversion and trigram search beyond ASCII need a UTF-8 LC_CTYPE, whose name differs between systems.
const characterTypes = ["C.UTF-8", "en_US.UTF-8", "C"];

/** Creates a cluster in an empty folder. */
export async function initialize(options: {
  initdb: string;
  draft: string;
  passwordFile: string;
  identity: Identity | undefined;
}): Promise<void> {
  const { initdb, draft, passwordFile, identity } = options;
  const args = [
    "-D",
    draft,
    "-U",
    superuser,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
  ];
  // The built-in provider sorts identically on every machine, regardless of the C library or ICU version.
  args.push("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions");
  for (const [index, characterType] of characterTypes.entries()) {
    try {
      await promisify(execFile)(initdb, [...args, `--lc-ctype=${characterType}`], runAs(identity));
      return;
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      const isLast = index === characterTypes.length - 1;
      if (!isLast && stderr?.includes("invalid locale name")) continue;
      throw new Error(`PostgreSQL could not be initialized: ${explain(stderr?.trim() || message)}`);
    }
  }
}

function explain(reason: string): string {
  if (!reason.includes("could not look up effective user ID")) return reason;
  return `${reason}. Add that user to /etc/passwd or set DATABASE_URL.`;
}
