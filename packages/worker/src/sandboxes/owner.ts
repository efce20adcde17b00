/** Whose the objects of sandboxes are in a container engine or cluster, which several installations and workers can share. */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export interface Owner {
  /** Identifies the installation of Outrider, also after a restart. */
  installation: string;
  /** Identifies the worker within the installation, also after a restart. */
  worker: string;
}

/** Whose the objects of a worker's isolated run are. `name` is different for each such run of the worker at a time. */
function isolatedOwner({ installation, worker }: Owner, name: string): Owner {
  return { installation, worker: `${worker}.${name}` };
}

/** Whether `worker` is the worker itself or, if asked for, one of its isolated runs. */
export function isOwnWorker(
  { worker: main }: Owner,
  worker: string | undefined,
  { withIsolated }: { withIsolated: boolean },
): boolean {
  return worker === main || (withIsolated && (worker?.startsWith(`${main}.`) ?? false));
}

interface OwnerOptions {
  /** The folder of the process's sandboxes. */
  root: string;
  /** That of the worker's main process, if this one executes an isolated run. */
  mainRoot: string;
  /** The name of the file that stores the owner in `mainRoot`. */
  file: string;
  /** Default: random names. */
  owner?: Owner | undefined;
}

/** Objects must be found again after a restart, so the names are stored. */
export function openOwner({ root, mainRoot, file, owner }: OwnerOptions): Owner {
  const main = owner ?? readOwner(join(mainRoot, file));
  return mainRoot === root ? main : isolatedOwner(main, basename(dirname(root)));
}

function readOwner(path: string): Owner {
  const id = randomUUID();
  try {
    writeFileSync(path, JSON.stringify({ installation: id, worker: id }), { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return JSON.parse(readFileSync(path, "utf8"));
}
