import { quote } from "../quote.ts";
import { workspacePath } from "../repositories/checkout.ts";
import { shellFunctions } from "../repositories/checkout-functions.ts";
import type { Repositories, Repository } from "../repositories/repository.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { listKnownObjects } from "../workspace/open-sandbox.ts";

const UPDATE_MS = 2 * 60_000;

interface UpdateBaseOptions {
  sandbox: Sandbox;
  /** The path of the repository, relative to /workspace. */
  path: string;
  source: Repository;
  base: string;
  repositories: Repositories;
  signal: AbortSignal;
}

/**
 * Brings the newest commits of a repository's base branch into the sandbox, as `git fetch` would, so that the agent can
 * merge them or rebase onto them. The sandbox has no credential to fetch them itself. Returns the commit of the branch.
 */
export async function updateBase(options: UpdateBaseOptions): Promise<string> {
  const { sandbox, path, base, repositories } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(UPDATE_MS)]);
  const source = { ...options.source, ref: `refs/heads/${base}` };
  const { commit, mirror } = await repositories.resolve(source, { signal });
  const isPartial = source.sparsePaths !== undefined;
  const execOptions = { signal, timeoutMs: UPDATE_MS, withWorkerPrograms: true };
  const [known] = await listKnownObjects(sandbox, { path, submodules: [] }, execOptions);
  if (!known) throw new Error("The repository is not in the sandbox.");
  const { exitCode } = await sandbox.exec(fetchScript(path), {
    ...execOptions,
    stdin: repositories.streamMirrors([{ mirror, commit, isPartial, lfsObjects: [], known }], { signal }),
    onOutput() {},
  });
  if (exitCode !== 0) throw new Error("The commits of the base branch could not be added to the repository.");
  return commit;
}

/** Returns the bash script that adds what the worker sends (mirror-archive.ts) to a clone. It checks nothing out. */
function fetchScript(path: string): string {
  return `${shellFunctions}
cd -- ${quote(workspacePath(path))}
own=$(git rev-parse --absolute-git-dir)
receive "$own"
move_packs "$incoming/0" "$own"
git update-ref --stdin < "$incoming/0/updates"
`;
}
