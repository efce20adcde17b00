import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "../../repositories/lock.ts";

/** Longer than any sandbox exists. Each use of an agent is recorded when a turn starts. */
export const UNUSED_MS = 7 * 24 * 3_600_000;

/** Removes versions of one agent that no turn has used for a week. */
export async function prunePackages(parent: string, { keep }: { keep: string }): Promise<void> {
  for (const file of await readdir(parent)) {
    const key = /^([0-9a-f]{32})\.lock$/.exec(file)?.[1];
    if (key === undefined || key === keep) continue;
    const { mtimeMs } = await stat(join(parent, file));
    if (Date.now() - mtimeMs < UNUSED_MS) continue;
    using lock = tryLock(join(parent, file));
    if (!lock) continue;
    const folder = join(parent, key);
    await rm(`${folder}.json`, { force: true });
    await rename(folder, `${folder}.draft`).catch(() => {});
    await rm(`${folder}.draft`, { recursive: true, force: true });
  }
}
