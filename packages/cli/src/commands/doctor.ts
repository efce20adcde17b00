import { existsSync } from "node:fs";
import { type Config, readConfig } from "@outrider/server/config";
import { Command, Option } from "commander";
import { certificateFindings } from "../doctor/certificate.ts";
import { checkInstallation } from "../doctor/database.ts";
import { diskFindings } from "../doctor/disk.ts";
import { type Finding, fail } from "../doctor/finding.ts";
import { harnessFindings } from "../doctor/harnesses.ts";
import { harnessesFileFindings } from "../doctor/harnesses-file.ts";
import { machineFindings } from "../doctor/machine.ts";
import { modelFindings } from "../doctor/models.ts";
import { networkFindings } from "../doctor/network.ts";
import { serverFindings } from "../doctor/server.ts";
import { storageFindings } from "../doctor/storage.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";

const marks = { ok: "ok", warn: "--", fail: "!!" };

interface DoctorFlags {
  json?: true;
  reach?: true;
  for?: "server" | "worker";
}

/** Checks this machine with the settings of the server and the worker. Exits with code 1 if a check fails. */
export const doctorCommand = new Command("doctor")
  .description("Check this machine and its configuration.")
  .option("--json", "print JSON")
  .option("--reach", "also check that model providers are reachable")
  .addOption(
    new Option(
      "--for <part>",
      "check only the server or only the worker; default: worker, and server if it has data here or DATABASE_URL is set",
    ).choices(["server", "worker"]),
  )
  .action(async ({ json, reach, for: part }: DoctorFlags) => {
    const network = part === "server" ? [] : await networkFindings(process.env);
    const findings = [
      ...(part === "worker"
        ? []
        : await checkServer({ reach: reach ?? false, isRequested: part === "server" })),
      ...(part === "server"
        ? []
        : [
            ...(await serverFindings(process.env)),
            ...(await machineFindings()),
            ...(await harnessFindings(process.env)),
          ]),
      ...network,
    ];
    if (json) console.log(JSON.stringify({ findings }));
    else for (const finding of findings) print(finding);
    if (findings.some(({ state }) => state === "fail")) process.exitCode = 1;
  });

async function checkServer({
  reach,
  isRequested,
}: {
  reach: boolean;
  isRequested: boolean;
}): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    return [fail("settings", "invalid", (error as Error).message)];
  }
  const certificate = await certificateFindings(config);
  if (!isRequested && !config.databaseUrl && !existsSync(config.dataDir)) return certificate;
  const database = await checkInstallation(config);
  return [
    ...database.findings,
    ...(await diskFindings(config)),
    ...(await storageFindings(config)),
    ...(await modelFindings(config, { reach, stored: database.storedModels })),
    ...harnessesFileFindings(config),
    ...certificate,
  ];
}

function print({ name, state, message, remedy }: Finding) {
  const text = sanitizeLine(remedy ? `${message.replace(/\.$/, "")}: ${remedy}` : message);
  console.log(`${marks[state]}  ${name.padEnd(12)}${text}`);
}
