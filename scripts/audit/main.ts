import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { findProblems, type Lockfile, nameOf } from "./packages.ts";

/**
 * Audits the dependencies as part of `make check`. It compares licenses and install scripts with the lists in packages.ts,
 * looks up known vulnerabilities in the registry, and checks that the software bill of materials (SBOM) is complete.
 * `--sbom FILE` also writes the SBOM to a file.
 */

const npm = (...args: string[]) => spawnSync("npm", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lockfile;
const problems = [...findProblems(lock), ...findVulnerabilities(), ...checkSbom(process.argv[3])];
for (const problem of problems) console.error(`audit: ${problem}`);
if (problems.length > 0) process.exit(1);
const { length } = Object.keys(lock.packages).filter((path) => path.includes("node_modules/"));
console.log(`audit: ${length} packages have an allowed license and allowed install scripts`);

interface Advisories {
  message?: string;
  vulnerabilities?: Record<string, { severity: string; range: string; via: (string | { title: string })[] }>;
}

/** Returns the known vulnerabilities of high or critical severity. */
function findVulnerabilities(): string[] {
  const { stdout } = npm("audit", "--json", "--package-lock-only");
  const answer = JSON.parse(stdout || "{}") as Advisories;
  if (!answer.vulnerabilities) {
    // The registry may be unreachable. Print a warning, but do not block offline work.
    const reason = answer.message?.replace(/ - .*/, "") ?? "no answer";
    console.warn(
      `audit: known vulnerabilities were NOT checked: the registry returned no advisories (${reason})`,
    );
    return [];
  }
  return Object.entries(answer.vulnerabilities)
    .filter(([, { severity }]) => severity === "high" || severity === "critical")
    .map(([name, { severity, range, via }]) => {
      const titles = via.map((advisory) => (typeof advisory === "string" ? advisory : advisory.title));
      return `${name} ${range}: ${severity}: ${titles.join("; ")}`;
    });
}

/** Returns the installed packages that the SBOM lacks, and writes the SBOM if a file is given. */
function checkSbom(file: string | undefined): string[] {
  const { stdout, status } = npm(
    "sbom",
    "--sbom-format=cyclonedx",
    "--sbom-type=application",
    "--package-lock-only",
  );
  if (status !== 0) return ["npm failed to create the SBOM"];
  const sbom = JSON.parse(stdout) as { components: { name: string; group?: string; version: string }[] };
  if (file) writeFileSync(file, stdout);
  const listed = new Set(
    sbom.components.map(({ group, name, version }) => `${group ? `${group}/` : ""}${name}@${version}`),
  );
  return Object.entries(lock.packages)
    .filter(([path, { link }]) => path.includes("node_modules/") && !link)
    .map(([path, { version }]) => `${nameOf(path)}@${version}`)
    .filter((id) => !listed.has(id))
    .map((id) => `${id} is missing in the SBOM`);
}
