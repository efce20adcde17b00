import { isBuiltin } from "node:module";
import { dirname, join } from "node:path/posix";
import { type Facts, type Import, readFacts } from "./imports.ts";

/**
 * Who may import whom. The left side is a package, or in the server a folder or file of its src; the right side
 * names what it may import besides itself, where "server" means all of it and "type x" means types alone.
 */
export const arrows: Record<string, readonly string[]> = {
  contract: [],
  sdk: ["type contract"],
  agent: ["contract"],
  worker: ["contract", "sdk", "agent"],
  web: ["contract", "sdk"],
  cli: ["contract", "sdk", "server", "worker"],
  "server/config": ["contract"],
  "server/store": ["contract", "type server/config"],
  "server/engine": ["contract", "server/store", "type server/config"],
  "server/api": ["contract", "server/store", "server/engine", "type server/config"],
  "server/main": ["contract", "server"],
};

/** Packages whose rules are per folder. */
const split = ["server"];
/** What runs in a browser knows nothing of Node. */
const browserSafe = ["contract", "sdk", "web"];
/** Packages that may import these from outside and nothing else. */
const outside: Record<string, readonly string[]> = { contract: ["zod"], sdk: [] };
/** The only readers of process.env. */
const envReaders = ["server/config", "cli"];
/** Programs that other programs start for us: the environment is the one place where they can be told a secret. */
const envPrograms = ["packages/worker/src/egress/connect.ts"];
/** A library that others ship has no config of ours; one file of it reads what its README promises. */
const envLibraries = ["packages/sdk/src/environment.ts"];

export interface Manifest {
  name: string;
  exports?: Record<string, unknown>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export interface Tree {
  /** Path from the root to text, for each source file below packages/x/src. */
  files: Record<string, string>;
  /** Path from the root to content, for each package.json. */
  manifests: Record<string, Manifest>;
}

/** All that is wrong with a tree, one sentence each. */
export function problems(tree: Tree): string[] {
  const facts = new Map(Object.entries(tree.files).map(([path, text]) => [path, readFacts(path, text)]));
  return [
    ...[...facts].flatMap(([path, { imports }]) => imports.flatMap((each) => wrongImport(tree, path, each))),
    ...[...facts].flatMap(([path, { readsEnv }]) => (readsEnv ? wrongEnv(path) : [])),
    ...cycles(tree, facts),
    ...Object.entries(tree.manifests).flatMap(([path, manifest]) => inexact(path, manifest)),
  ];
}

function wrongImport(tree: Tree, from: string, { to, typeOnly }: Import): string[] {
  if (to === undefined) return [`${from}: a computed import hides its arrow`];
  const home = packageOf(from);
  const target = resolve(tree, from, to);

  if (target !== undefined) {
    if (to.startsWith(".") && packageOf(target) !== home) return [`${from}: reaches into ${target} by path`];
    if (!to.startsWith(".") && packageOf(target) === home)
      return [`${from}: imports its own package by name`];
    const here = unitOf(from);
    const there = unitOf(target);
    const rule = arrows[here];
    if (rule === undefined) return [`${from}: scripts/arrows.ts has no rule for ${here}`];
    const asWell = packageOf(target) === home ? [] : undeclared(tree, from, to);
    return allowed(rule, here, there, typeOnly)
      ? asWell
      : [`${from}: ${here} must not import ${there}`, ...asWell];
  }
  if (to.startsWith(".")) return [];
  if (isBuiltin(to))
    return browserSafe.includes(home) ? [`${from}: ${home} runs in browsers, ${to} does not`] : [];
  const permitted = outside[home];
  if (permitted && !permitted.includes(packageName(to))) return [`${from}: ${home} must not import ${to}`];
  return undeclared(tree, from, to);
}

function allowed(rule: readonly string[], here: string, there: string, typeOnly: boolean): boolean {
  const covers = (name: string) => name === there || there.startsWith(`${name}/`);
  return (
    here === there ||
    rule.some((each) => (each.startsWith("type ") ? typeOnly && covers(each.slice(5)) : covers(each)))
  );
}

/** npm puts every package where all can reach it, so a missing declaration shows only once one ships alone. */
function undeclared(tree: Tree, from: string, to: string): string[] {
  const manifest = tree.manifests[`packages/${packageOf(from)}/package.json`];
  const name = packageName(to);
  const declared = { ...manifest?.dependencies, ...manifest?.optionalDependencies };
  return name in declared ? [] : [`${from}: ${name} is not a dependency of ${packageOf(from)}`];
}

function wrongEnv(path: string): string[] {
  return envReaders.includes(unitOf(path)) || [...envPrograms, ...envLibraries].includes(path)
    ? []
    : [`${path}: process.env is read in ${envReaders.join(" and ")} alone`];
}

function inexact(path: string, manifest: Manifest): string[] {
  const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
  return Object.entries(all)
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version))
    .map(([name, version]) => `${path}: ${name} must have an exact version, not ${version}`);
}

/** The cycles between files, each from its alphabetically first file. */
function cycles(tree: Tree, facts: Map<string, Facts>): string[] {
  const found = new Set<string>();
  const done = new Set<string>();
  const visit = (path: string, trail: string[]) => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      const ring = trail.slice(start);
      const first = ring.indexOf(ring.toSorted()[0] ?? path);
      const turned = [...ring.slice(first), ...ring.slice(0, first)];
      found.add(`cycle: ${[...turned, turned[0]].join(" -> ")}`);
    }
    if (start >= 0 || done.has(path)) return;
    for (const { to } of facts.get(path)?.imports ?? []) {
      const target = to && resolve(tree, path, to);
      if (target && target in tree.files) visit(target, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of facts.keys()) visit(path, []);
  return [...found];
}

/** The path that an import means inside this repository, undefined for anything from outside. */
function resolve(tree: Tree, from: string, to: string): string | undefined {
  if (to.startsWith(".")) return join(dirname(from), to);
  const name = packageName(to);
  const owner = Object.entries(tree.manifests).find(([, manifest]) => manifest.name === name);
  if (owner === undefined) return undefined;
  const [path, { exports = {} }] = owner;
  const entry = `.${to.slice(name.length)}`;
  const target = exports[entry] ?? exports["./*"];
  const file =
    typeof target === "string" ? target.replace("*", entry.slice(2)) : `src${entry.slice(1) || "/index"}.ts`;
  return join(dirname(path), file);
}

function packageOf(path: string): string {
  return path.split("/")[1] ?? "";
}

function unitOf(path: string): string {
  const [, home = "", , inner = ""] = path.split("/");
  return split.includes(home) ? `${home}/${inner.replace(/\.tsx?$/, "")}` : home;
}

function packageName(to: string): string {
  return to.split("/", to.startsWith("@") ? 2 : 1).join("/");
}
