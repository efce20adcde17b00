import { existsSync } from "node:fs";
import { type Config, readConfig } from "@outrider/server/config";
import { Command, Option } from "commander";
import { certificateFindings } from "../doctor/certificate.ts";
import { databaseFindings } from "../doctor/database.ts";
import { diskFindings } from "../doctor/disk.ts";
import { type Finding, fail } from "../doctor/finding.ts";
import { machineFindings } from "../doctor/machine.ts";
import { modelFindings } from "../doctor/models.ts";
import { serverFindings } from "../doctor/server.ts";
import { harmlessLine } from "../terminal/harmless.ts";

const marks = { ok: "ok", warn: "--", fail: "!!" };

interface DoctorFlags {
  json?: true;
  reach?: true;
  for?: "server" | "worker";
}

/** Looks at this machine as a server and a worker would, by their settings. Ends with 1 where something would fail. */
export const doctorCommand = new Command("doctor")
  .description("Say what this machine offers to a server and to runs, and what is missing.")
  .option("--json", "as one JSON document")
  .option("--reach", "also ask whether the providers of models answer")
  .addOption(
    new Option(
      "--for <part>",
      "server or worker alone; else a worker, and a server where one has its data here or DATABASE_URL is set",
    ).choices(["server", "worker"]),
  )
  .action(async ({ json, reach, for: part }: DoctorFlags) => {
    const findings = [
      ...(part === "worker" ? [] : await ofServer({ reach: reach ?? false, isAsked: part === "server" })),
      ...(part === "server" ? [] : [...(await serverFindings(process.env)), ...(await machineFindings())]),
    ];
    if (json) console.log(JSON.stringify({ findings }));
    else for (const finding of findings) print(finding);
    if (findings.some(({ state }) => state === "fail")) process.exitCode = 1;
  });

async function ofServer({ reach, isAsked }: { reach: boolean; isAsked: boolean }): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    return [fail("settings", "`serve` would refuse them", (error as Error).message)];
  }
  const certificate = await certificateFindings(config);
  if (!isAsked && !config.databaseUrl && !existsSync(config.dataDir)) return certificate;
  return [
    ...(await databaseFindings(config)),
    ...(await diskFindings(config)),
    ...(await modelFindings(config, { reach })),
    ...certificate,
  ];
}

function print({ name, state, says, remedy }: Finding) {
  const words = harmlessLine(remedy ? `${says}: ${remedy}` : says);
  console.log(`${marks[state]}  ${name.padEnd(12)}${words}`);
}
