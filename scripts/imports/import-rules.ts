/**
 * The rules for imports between packages and, in the server, between the folders of its src. They keep dependencies in
 * one direction, browser packages free of Node, and `process.env` in the configuration. Besides that, imports between
 * files must not form a cycle, and every package declares what it imports with an exact version.
 */

import { isBuiltin } from "node:module";
import { dirname, join } from "node:path/posix";
import { type Import, readSource, type SourceInfo } from "./read-imports.ts";

/**
 * Maps each unit to what it may import besides itself. A unit is a package or, in the server, a folder or file of its
 * src. "server" allows all of the server, and "type x" allows only type imports.
 */
export const importRules: Record<string, readonly string[]> = {
  contract: [],
  telemetry: [],
  sdk: ["type contract"],
  agent: ["contract", "telemetry"],
  worker: ["contract", "sdk", "agent", "telemetry"],
  web: ["contract", "sdk"],
  cli: ["contract", "sdk", "server", "worker", "telemetry"],
  "server/ticker": [],
  "server/logging": ["telemetry", "type server/engine"],
  "server/config": ["contract", "telemetry", "server/logging"],
  "server/outbound": [],
  "server/forges": ["contract", "server/outbound"],
  "server/blobs": ["type server/config"],
  "server/telemetry": ["contract", "telemetry", "server/store"],
  "server/store": ["server/ticker", "contract", "type telemetry", "type server/config"],
  "server/postgres": ["server/ticker", "type server/store"],
  "server/engine": [
    "server/ticker",
    "contract",
    "telemetry",
    "server/outbound",
    "server/blobs",
    "server/forges",
    "server/store",
    "server/postgres",
    "type server/config",
    // A test of a model provider makes the same call as a run. See engine/models/test-provider.ts.
    "agent",
  ],
  "server/api": [
    "server/ticker",
    "contract",
    "telemetry",
    "server/blobs",
    "server/forges",
    "server/store",
    "server/telemetry",
    "server/engine",
    "type server/config",
  ],
  "server/main": ["contract", "telemetry", "server"],
};

/** Packages with rules per folder. */
const packagesWithFolderRules = ["server"];
/** Packages that run in a browser and must not import Node's modules. */
const browserPackages = ["contract", "sdk", "web"];
/** Packages that may import only these external packages. */
const allowedExternals: Record<string, readonly string[]> = { contract: ["zod"], sdk: [] };
/** The units that may read process.env. */
const envReaders = ["server/config", "cli"];
/** Files that may also read process.env. */
const envReaderFiles = [
  // Git starts this program, and the environment is the only way to pass it a secret.
  "packages/worker/src/egress/ssh-proxy-command.ts",
  // A library has no configuration of ours; this file reads the variables that its README documents.
  "packages/sdk/src/environment.ts",
];

/** Folders that only some files outside may import. `importers` are paths, or folders that end with a slash. */
const privateFolders = [
  {
    folder: "packages/worker/src/sandboxes/local/",
    importers: [
      "packages/worker/src/sandboxes/open-provider.ts",
      // The layers of images are files of the local sandboxes.
      "packages/worker/src/images/",
      // The supervisor of a worker that hangs looks for the processes of its sandboxes.
      "packages/worker/src/supervisor/",
    ],
  },
];

export interface Manifest {
  name: string;
  exports?: Record<string, unknown>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export interface SourceTree {
  /** The text of each source file below packages/x/src, by path. */
  files: Record<string, string>;
  /** The content of each package.json, by path. */
  manifests: Record<string, Manifest>;
}

/** Returns all violations of the rules, one sentence each. */
export function findViolations(tree: SourceTree): string[] {
  const sources = new Map(Object.entries(tree.files).map(([path, text]) => [path, readSource(path, text)]));
  return [
    ...[...sources].flatMap(([path, { imports }]) =>
      imports.flatMap((imported) => checkImport(tree, path, imported)),
    ),
    ...[...sources].flatMap(([path, { readsEnv }]) => (readsEnv ? checkEnvReader(path) : [])),
    ...findCycles(tree, sources),
    ...Object.entries(tree.manifests).flatMap(([path, manifest]) => checkVersions(path, manifest)),
  ];
}

function checkImport(tree: SourceTree, from: string, { specifier, typeOnly }: Import): string[] {
  if (specifier === undefined) return [`${from}: computed imports are not allowed`];
  const ownPackage = packageOf(from);
  const target = resolveImport(tree, from, specifier);

  if (target !== undefined) {
    if (specifier.startsWith(".") && packageOf(target) !== ownPackage)
      return [`${from}: imports ${target} of another package by path`];
    if (!specifier.startsWith(".") && packageOf(target) === ownPackage)
      return [`${from}: imports its own package by name`];
    const importer = unitOf(from);
    const imported = unitOf(target);
    const rule = importRules[importer];
    if (rule === undefined) return [`${from}: scripts/imports/import-rules.ts has no rule for ${importer}`];
    const isPrivate = privateFolders.some(
      ({ folder, importers }) =>
        target.startsWith(folder) && ![folder, ...importers].some((path) => from.startsWith(path)),
    );
    if (isPrivate) return [`${from}: must not import ${target}, which is private to its folder`];
    const undeclared = packageOf(target) === ownPackage ? [] : checkDeclared(tree, from, specifier);
    return isAllowed(rule, { importer, imported, typeOnly })
      ? undeclared
      : [`${from}: ${importer} must not import ${imported}`, ...undeclared];
  }
  if (specifier.startsWith(".")) return [];
  if (isBuiltin(specifier))
    return browserPackages.includes(ownPackage)
      ? [`${from}: ${ownPackage} runs in browsers and must not import ${specifier}`]
      : [];
  const externals = allowedExternals[ownPackage];
  if (externals && !externals.includes(packageName(specifier)))
    return [`${from}: ${ownPackage} must not import ${specifier}`];
  return checkDeclared(tree, from, specifier);
}

function isAllowed(
  rule: readonly string[],
  { importer, imported, typeOnly }: { importer: string; imported: string; typeOnly: boolean },
): boolean {
  const covers = (name: string) => name === imported || imported.startsWith(`${name}/`);
  return (
    importer === imported ||
    rule.some((target) => (target.startsWith("type ") ? typeOnly && covers(target.slice(5)) : covers(target)))
  );
}

/** npm hoists packages, so a missing declaration would otherwise show only once a package is published alone. */
function checkDeclared(tree: SourceTree, from: string, specifier: string): string[] {
  const manifest = tree.manifests[`packages/${packageOf(from)}/package.json`];
  const name = packageName(specifier);
  const declared = { ...manifest?.dependencies, ...manifest?.optionalDependencies };
  return name in declared ? [] : [`${from}: ${name} is not a dependency of ${packageOf(from)}`];
}

function checkEnvReader(path: string): string[] {
  return envReaders.includes(unitOf(path)) || envReaderFiles.includes(path)
    ? []
    : [`${path}: only ${envReaders.join(" and ")} may read process.env`];
}

function checkVersions(path: string, manifest: Manifest): string[] {
  const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
  return Object.entries(all)
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version))
    .map(([name, version]) => `${path}: ${name} must have an exact version, not ${version}`);
}

/** Finds import cycles between files. Each is reported once, starting with its alphabetically first file. */
function findCycles(tree: SourceTree, sources: Map<string, SourceInfo>): string[] {
  const found = new Set<string>();
  const done = new Set<string>();
  const visit = (path: string, trail: string[]) => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      const cycle = trail.slice(start);
      const first = cycle.indexOf(cycle.toSorted()[0] ?? path);
      const rotated = [...cycle.slice(first), ...cycle.slice(0, first)];
      found.add(`cycle: ${[...rotated, rotated[0]].join(" -> ")}`);
    }
    if (start >= 0 || done.has(path)) return;
    for (const { specifier } of sources.get(path)?.imports ?? []) {
      const target = specifier && resolveImport(tree, path, specifier);
      if (target && target in tree.files) visit(target, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of sources.keys()) visit(path, []);
  return [...found];
}

/** Returns the path of an import within this repository, or undefined for an external package. */
function resolveImport(tree: SourceTree, from: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return join(dirname(from), specifier);
  const name = packageName(specifier);
  const owner = Object.entries(tree.manifests).find(([, manifest]) => manifest.name === name);
  if (owner === undefined) return undefined;
  const [path, { exports = {} }] = owner;
  const entry = `.${specifier.slice(name.length)}`;
  const target = exports[entry] ?? exports["./*"];
  const file =
    typeof target === "string" ? target.replace("*", entry.slice(2)) : `src${entry.slice(1) || "/index"}.ts`;
  return join(dirname(path), file);
}

function packageOf(path: string): string {
  return path.split("/")[1] ?? "";
}

function unitOf(path: string): string {
  const [, name = "", , inner = ""] = path.split("/");
  return packagesWithFolderRules.includes(name) ? `${name}/${inner.replace(/\.tsx?$/, "")}` : name;
}

function packageName(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
