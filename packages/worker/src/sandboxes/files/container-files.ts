/** The files that the containers of a sandbox have from the beginning. */

import { sandboxPaths } from "../paths.ts";
import type { OpenOptions } from "../sandbox.ts";
import { imageGitConfigPath, includeImageGitConfig } from "../systems/image-commands.ts";
import { sandboxUser } from "../systems/sandbox-user.ts";
import { etcFiles } from "./etc-files.ts";
import { type ArchiveEntry, createArchive } from "./file-archive.ts";
import { gitConfig, pushConfig, pushConfigName } from "./git-config.ts";
import { scriptStatePath } from "./script-paths.ts";

type Options = Pick<OpenOptions, "gitAuthor" | "gitPushes" | "image">;

/** The engine itself writes these. */
const engineFiles = ["hosts", "resolv.conf"];

/** `hasFolders`: the workspace and the home have their owners and modes already. */
export function commandFiles(options: Options, { hasFolders }: { hasFolders: boolean }): Buffer {
  if (!options.image) {
    const folders = [ownFolder(sandboxPaths.tmp), ...(hasFolders ? [] : volumeFolders())];
    return createArchive([...systemFiles(options), ...folders]);
  }
  const gitConfigName = imageGitConfigPath.slice(1);
  return createArchive([
    file("etc/outrider-connect", etcFiles["outrider-connect"]),
    file(gitConfigName, includeImageGitConfig(gitConfig(options.gitAuthor, options.gitPushes))),
    file(`${gitConfigName}-push`, pushConfig(options.gitPushes)),
  ]);
}

export function scriptFiles(options: Options): Buffer {
  const owner = options.image ? {} : sandboxUser;
  return createArchive([
    ...systemFiles(options),
    { name: `${sandboxPaths.tmp.slice(1)}/`, mode: 0o1777 },
    { name: `${scriptStatePath.slice(1)}/`, mode: 0o700, ...owner },
  ]);
}

function systemFiles({ gitAuthor, gitPushes }: Options): ArchiveEntry[] {
  return [
    ...Object.entries(etcFiles)
      .filter(([name]) => !engineFiles.includes(name))
      .map(([name, content]) => file(`etc/${name}`, content)),
    file("etc/gitconfig", gitConfig(gitAuthor, gitPushes)),
    file(`etc/${pushConfigName}`, pushConfig(gitPushes)),
  ];
}

/** The volumes of a sandbox without an image, to which its commands can write. */
export function volumeFolders(): ArchiveEntry[] {
  return [sandboxPaths.workspace, sandboxPaths.home].map(ownFolder);
}

const ownFolder = (path: string) => ({ name: `${path.slice(1)}/`, mode: 0o700, ...sandboxUser });

function file(name: string, content = ""): ArchiveEntry {
  return { name, content, mode: content.startsWith("#!") ? 0o755 : 0o644 };
}
