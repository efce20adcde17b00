/** Whose the objects of sandboxes are in a container engine or cluster, which several installations and workers can share. */
import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export interface Owner {
  /** Identifies the installation of Outrider. If the server has not told it, it is the same as `worker`. */
  installation: string;
  /** Identifies the worker, also after a restart and in other installations. */
  worker: string;
  /** The installations that the worker belonged to before, whose shared objects it removes when they are unused. */
  formerInstallations?: string[];
}

/** Whose the objects of a worker's isolated run are. `name` is different for each such run of the worker at a time. */
function isolatedOwner({ worker, ...owner }: Owner, name: string): Owner {
  return { ...owner, worker: `${worker}.${name}` };
}

/** Returns the worker to which an isolated run belongs, or the worker itself. */
export function mainWorkerOf(worker: string): string {
  return worker.replace(/\..*$/s, "");
}

const MAX_FORMER = 5;

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
  /** Default: the stored one, or a random one. */
  owner?: Owner | undefined;
  /** Returns the id of the server's installation, if the server responds and knows it. */
  findInstallation?: (() => Promise<string | undefined>) | undefined;
}

/**
 * Objects must be found again after a restart, so the owner is stored. The worker's name never changes. The installation
 * does when the server tells it for the first time, and when the worker gets another server; earlier ones are stored too.
 */
export async function openOwner(options: OwnerOptions): Promise<Owner> {
  const { root, mainRoot, file, owner } = options;
  const path = join(mainRoot, file);
  if (mainRoot !== root) return isolatedOwner(owner ?? readOwner(path), basename(dirname(root)));
  if (owner) return owner;
  const stored = readOwner(path);
  const installation = await options.findInstallation?.();
  if (installation === undefined || installation === stored.installation) return stored;
  const { worker, installation: last, formerInstallations = [] } = stored;
  const former = [last, ...formerInstallations.filter((each) => each !== last)];
  const current: Owner = {
    ...{ installation, worker },
    formerInstallations: former.filter((each) => each !== installation).slice(0, MAX_FORMER),
  };
  // Isolated runs of this worker may read it at the same time.
  writeFileSync(`${path}.new`, JSON.stringify(current), { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
  return current;
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
