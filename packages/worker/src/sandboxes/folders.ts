import { execFile } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { explain, ownFolders } from "./bubblewrap.ts";
import type { Identity } from "./identities.ts";
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
    for (const path of ownFolders.map((own) => join(folder, own))) {
      mkdirSync(path, { mode: 0o700 });
      if (identity) chownSync(path, identity.uid, identity.gid);
    }
    return folder;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(explain((error as Error).message), { cause: error });
  }
}

/** A command can close these to itself, and with them the sandbox to every later command. */
export function openFolder(folder: string): void {
  for (const own of ownFolders) chmodSync(join(folder, own), 0o700);
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
