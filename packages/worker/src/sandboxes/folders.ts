import { execFile } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { explain, type Places } from "./bubblewrap.ts";
import type { Identity } from "./identity.ts";
import type { Label } from "./sandbox.ts";

const run = promisify(execFile);
/** Leaves out our own folders beside the sandboxes, which begin with a dot, and what a disk brings, as lost+found. */
const name = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,127}$/;

/** The folder of one sandbox. Nobody on the host but its own user, and us, can enter it. */
export function makeFolder(options: {
  root: string;
  id: string;
  label: Label;
  identity: Identity | undefined;
}): string {
  const { root, id, label, identity } = options;
  if (!name.test(id)) throw new Error(`"${id}" is no name for a sandbox.`);
  const folder = join(root, id);
  mkdirSync(folder, { mode: 0o700 });
  try {
    writeFileSync(join(folder, "label.json"), JSON.stringify(label), { mode: 0o600 });
    if (identity) chownSync(folder, 0, identity.gid);
    chmodSync(folder, 0o710);
    return folder;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(explain((error as Error).message), { cause: error });
  }
}

export function placesIn(folder: string): Places {
  return { workspace: join(folder, "workspace"), home: join(folder, "home"), tmp: join(folder, "tmp") };
}

/** The folders that commands see, empty. */
export function makeOwnFolders(folder: string, identity: Identity | undefined): Places {
  const places = placesIn(folder);
  for (const path of Object.values(places)) {
    mkdirSync(path, { mode: 0o700 });
    if (identity) chownSync(path, identity.uid, identity.gid);
  }
  return places;
}

/** What our own scripts remember about a sandbox's files, beside the folders that commands see. */
export function keptFolder({ tmp }: Places): string {
  return join(dirname(tmp), "kept");
}

export function makeKeptFolder(folder: string, identity: Identity | undefined): void {
  const path = keptFolder(placesIn(folder));
  mkdirSync(path, { mode: 0o700 });
  if (identity) chownSync(path, identity.uid, identity.gid);
}

/** All folders that a disk of a sandbox may need, with a base or without. */
export function makeSkeleton(folder: string, identity: Identity | undefined): void {
  makeOwnFolders(folder, identity);
  makeKeptFolder(folder, identity);
  for (const name of ["upper", "work"]) {
    mkdirSync(join(folder, name));
    chmodSync(join(folder, name), 0o711);
  }
  // There from the beginning, so that there is something to compare with the base.
  makeOwnFolders(join(folder, "upper"), identity);
}

/**
 * Only for a folder in which nothing runs any more. By programs that go down step by step: a hostile tree may be
 * deeper than the longest path, and its folders may be closed even to their owner.
 */
export async function removeFolder(folder: string): Promise<void> {
  const options = { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, cwd: "/" };
  const remove = () => run("rm", ["-rf", "--one-file-system", "--", folder], options);
  await remove().catch(async () => {
    await run("chmod", ["-R", "u+rwX", "--", folder], options).catch(() => {});
    await remove();
  });
}

/** What lies in the root, with its label; empty where its maker came to no label. */
export function listFolders(root: string): { id: string; label: Label }[] {
  const ids = readdirSync(root).filter((entry) => name.test(entry));
  return ids.map((id) => ({ id, label: readLabel(join(root, id, "label.json")) }));
}

function readLabel(path: string): Label {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return {};
  }
}
