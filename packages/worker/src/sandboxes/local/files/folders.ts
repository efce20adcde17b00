import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Label } from "../../sandbox.ts";
import { assertSandboxId, isSandboxId } from "../../sandbox-id.ts";
import { explainBwrapError, type SandboxFolders } from "../bubblewrap.ts";
import type { UnixAccount } from "../unix-account.ts";

/** Creates one sandbox's folder. Only the worker and the sandbox user can enter it. */
export function makeFolder(options: {
  root: string;
  id: string;
  label: Label;
  account: UnixAccount | undefined;
}): string {
  const { root, id, label, account } = options;
  assertSandboxId(id);
  const folder = join(root, id);
  mkdirSync(folder, { mode: 0o700 });
  try {
    writeFileSync(join(folder, "label.json"), JSON.stringify(label), { mode: 0o600 });
    if (account) chownSync(folder, 0, account.gid);
    chmodSync(folder, 0o710);
    return folder;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(explainBwrapError((error as Error).message), { cause: error });
  }
}

export function sandboxFoldersIn(folder: string): SandboxFolders {
  return { workspace: join(folder, "workspace"), home: join(folder, "home"), tmp: join(folder, "tmp") };
}

/** Creates the empty folders that commands see. */
export function makeSandboxFolders(folder: string, account: UnixAccount | undefined): SandboxFolders {
  const folders = sandboxFoldersIn(folder);
  for (const path of Object.values(folders)) {
    mkdirSync(path, { mode: 0o700 });
    if (account) chownSync(path, account.uid, account.gid);
  }
  return folders;
}

/** Returns the folder for data that the worker's own scripts store between calls. Commands cannot see it. */
export function scriptStateFolder({ tmp }: SandboxFolders): string {
  return join(dirname(tmp), "state");
}

export function makeScriptStateFolder(folder: string, account: UnixAccount | undefined): void {
  const path = scriptStateFolder(sandboxFoldersIn(folder));
  mkdirSync(path, { mode: 0o700 });
  if (account) chownSync(path, account.uid, account.gid);
}

/** Creates every folder that a sandbox may need, with or without a base. */
export function makeSkeleton(folder: string, account: UnixAccount | undefined): void {
  makeSandboxFolders(folder, account);
  makeScriptStateFolder(folder, account);
  for (const name of ["upper", "work"]) {
    mkdirSync(join(folder, name));
    chmodSync(join(folder, name), 0o711);
  }
  // The upper layer contains these folders from the start, so that it can always be compared with the base.
  makeSandboxFolders(join(folder, "upper"), account);
  makeScriptStateFolder(join(folder, "upper"), account);
}

/** Returns the sandbox folders below the root. The label is empty if the worker died before writing it. */
export function listFolders(root: string): { id: string; label: Label }[] {
  const ids = readdirSync(root).filter(isSandboxId);
  return ids.map((id) => ({ id, label: readLabel(join(root, id, "label.json")) }));
}

function readLabel(path: string): Label {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return {};
  }
}
