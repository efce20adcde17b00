import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { etcFiles } from "../../files/etc-files.ts";
import { firstCopiedFd } from "../process/launch.ts";

/** Public host files without which git, Python or Node would fail or misbehave. */
const hostFiles = [
  "/etc/alternatives",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/os-release",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust/extracted",
];

export interface Etc {
  /** The bubblewrap options that create it. */
  args: string[];
  /** Opens the files that these options read, for one bubblewrap process. */
  open(): number[];
}

/**
 * Stores the files of every sandbox's /etc in `folder`. bubblewrap copies them into each sandbox, because a mount of the
 * folder would reveal the folder's path inside.
 */
export function makeEtc(folder: string): Etc {
  mkdirSync(folder, { recursive: true });
  const paths = Object.entries(etcFiles).map(([name, content]) => {
    ensureFile(join(folder, name), content);
    return join(folder, name);
  });
  const copies = Object.entries(etcFiles).flatMap(([name, content], index) => [
    ...["--perms", content.startsWith("#!") ? "0755" : "0644"],
    ...["--file", String(firstCopiedFd + index), `/etc/${name}`],
  ]);
  const binds = hostFiles.filter((path) => existsSync(path)).flatMap((path) => ["--ro-bind", path, path]);
  return { args: ["--perms", "0755", "--dir", "/etc", ...copies, ...binds], open: () => openAll(paths) };
}

/** Adds files of one sandbox, which are stored in its own folder. */
export function extendEtc(etc: Etc, folder: string, own: Record<string, string>): Etc {
  const names = Object.keys(own);
  for (const name of names) writeFileSync(join(folder, name), own[name] as string, { mode: 0o600 });
  const first = firstCopiedFd + Object.keys(etcFiles).length;
  return {
    args: [
      ...etc.args,
      ...names.flatMap((name, index) => ["--perms", "0644", "--file", String(first + index), `/etc/${name}`]),
    ],
    open: () => [...etc.open(), ...openAll(names.map((name) => join(folder, name)))],
  };
}

export function openAll(paths: string[]): number[] {
  const opened: number[] = [];
  try {
    for (const path of paths) opened.push(openSync(path, "r"));
    return opened;
  } catch (error) {
    for (const file of opened) closeSync(file);
    throw error;
  }
}

/** Writes a file unless it already has the right content, because another worker's commands may be reading it. */
function ensureFile(path: string, content: string): void {
  if (existsSync(path) && readFileSync(path, "utf8") === content) return;
  writeFileSync(path, content);
}
