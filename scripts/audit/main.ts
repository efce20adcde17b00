import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { faults, type Lock, nameOf } from "./packages.ts";

/**
 * What we depend on: licences and install scripts by our own lists, known vulnerabilities by the registry's advisories, and
 * a bill of materials (`--sbom FILE` writes it). `make check` runs it.
 */

const npm = (...args: string[]) => spawnSync("npm", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock;
const wrong = [...faults(lock), ...vulnerabilities(), ...sbom(process.argv[3])];
for (const sentence of wrong) console.error(`audit: ${sentence}`);
if (wrong.length > 0) process.exit(1);
const { length } = Object.keys(lock.packages).filter((path) => path.includes("node_modules/"));
console.log(`audit: ${length} packages: licences and install scripts are on our lists`);

interface Advisories {
  message?: string;
  vulnerabilities?: Record<string, { severity: string; range: string; via: (string | { title: string })[] }>;
}

function vulnerabilities(): string[] {
  const { stdout } = npm("audit", "--json", "--package-lock-only");
  const answer = JSON.parse(stdout || "{}") as Advisories;
  if (!answer.vulnerabilities) {
    // Not everywhere can the advisories be reached; that must be seen, and stop nobody who works offline.
    const why = answer.message?.replace(/ - .*/, "") ?? "no answer";
    console.warn(`audit: known vulnerabilities were NOT checked: the registry gave no advisories (${why})`);
    return [];
  }
  return Object.entries(answer.vulnerabilities)
    .filter(([, { severity }]) => severity === "high" || severity === "critical")
    .map(([name, { severity, range, via }]) => {
      const titles = via.map((each) => (typeof each === "string" ? each : each.title));
      return `${name} ${range}: ${severity}: ${titles.join("; ")}`;
    });
}

function sbom(file: string | undefined): string[] {
  const { stdout, status } = npm(
    "sbom",
    "--sbom-format=cyclonedx",
    "--sbom-type=application",
    "--package-lock-only",
  );
  if (status !== 0) return ["npm could not write the bill of materials"];
  const bill = JSON.parse(stdout) as { components: { name: string; group?: string; version: string }[] };
  if (file) writeFileSync(file, stdout);
  const listed = new Set(
    bill.components.map(({ group, name, version }) => `${group ? `${group}/` : ""}${name}@${version}`),
  );
  return Object.entries(lock.packages)
    .filter(([path, { link }]) => path.includes("node_modules/") && !link)
    .map(([path, { version }]) => `${nameOf(path)}@${version}`)
    .filter((each) => !listed.has(each))
    .map((each) => `${each} is missing in the bill of materials`);
}
