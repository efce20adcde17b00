import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Checkout } from "./checkout.ts";

/** The name of a bundle and of the folder in it, such as outrider-0.1.0-linux-x64. */
export const bundleName = ({ version }: Checkout) =>
  `outrider-${version}-${process.platform}-${process.arch}`;

/**
 * Writes the files of the offline bundle to a folder. `lib` in it must already contain the staged package with its
 * dependencies.
 */
export function stageBundle({ root, version }: Checkout, folder: string): void {
  const packaging = join(root, "packaging");
  mkdirSync(join(folder, "bin"), { recursive: true });
  copyNode(root, folder);
  for (const [source, target] of [
    ["outrider", "bin/outrider"],
    ["install.sh", "install.sh"],
    ["systemd", "systemd"],
    ["server.Dockerfile", "containers/server.Dockerfile"],
    ["worker.Dockerfile", "containers/worker.Dockerfile"],
    ["compose.yaml", "containers/compose.yaml"],
  ] as const)
    cpSync(join(packaging, source), join(folder, target), { recursive: true });
  mkdirSync(join(folder, "docs"), { recursive: true });
  for (const page of ["install", "running", "kubernetes", "upgrades", "backup", "operations"])
    cpSync(join(root, `docs/${page}.md`), join(folder, `docs/${page}.md`));
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeFileSync(join(folder, "VERSION"), `${version}\n`);
  // As install.sh asks for it.
  writeFileSync(join(folder, "MACHINE"), execFileSync("sh", ["-c", 'echo "$(uname -s)-$(uname -m)"']));
}

/** Copies the pinned Node with its license. */
function copyNode(root: string, folder: string): void {
  const pinned = readFileSync(join(root, ".node-version"), "utf8").trim();
  if (process.versions.node !== pinned)
    throw new Error(`Make the bundle with Node ${pinned}, which scripts/setup installs in .tools.`);
  cpSync(process.execPath, join(folder, "bin/node"), { dereference: true });
  chmodSync(join(folder, "bin/node"), 0o755);
  const license = join(dirname(dirname(process.execPath)), "LICENSE");
  if (existsSync(license)) cpSync(license, join(folder, "bin/node.LICENSE"));
}
