import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";

/** The folder of the programs that Outrider brings along, as seen inside a sandbox. */
export const programsPath = "/opt/outrider/bin";
export const ripgrepPath = `${programsPath}/rg`;

/**
 * Copies the programs that every sandbox has to a folder below the root, and returns the folder. They are copies, so that
 * every user can reach them and an update of the worker's packages does not replace them while sandboxes use them.
 */
export async function installPrograms(root: string): Promise<string> {
  const source = await findRipgrep();
  const folder = join(root, ".programs");
  const target = join(folder, "rg");
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  if (existsSync(target) && readFileSync(target).equals(readFileSync(source))) return folder;
  const draft = join(folder, `.rg-${process.pid}`);
  copyFileSync(source, draft);
  chmodSync(draft, 0o755);
  renameSync(draft, target);
  return folder;
}

/** The package throws while it is loaded if it has no program for this system. */
async function findRipgrep(): Promise<string> {
  try {
    return (await import("@vscode/ripgrep")).rgPath;
  } catch {
    throw new Error(
      `The program ripgrep is missing for ${process.platform}-${process.arch}: install Outrider's packages without omitting optional dependencies.`,
    );
  }
}
