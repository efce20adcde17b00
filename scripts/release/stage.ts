import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Checkout } from "./checkout.ts";
import { compileWorkspace } from "./compile.ts";
import { copyModules, findRuntimePackages, type LockedPackage, readLock } from "./modules.ts";

/** What the compiled sources need besides each other. */
const files = [
  ["LICENSE", "run the release in a complete checkout"],
  ["openapi.json", "run node scripts/openapi.ts"],
  ["packages/web/dist", "run scripts/setup"],
  ["packages/worker/agents", "run the release in a complete checkout"],
  ["packages/worker/native/build", "run scripts/setup"],
] as const;

/**
 * Writes the files of the npm package to a folder, in the layout of the checkout, so that paths between files stay the
 * same. With `modules`, the folder also contains all dependencies of this system, and runs as it is.
 */
export function stagePackage(checkout: Checkout, folder: string, options: { modules: boolean }): void {
  const { root, version } = checkout;
  const lock = readLock(checkout);
  const paths = findRuntimePackages(lock, ["packages/cli"]);
  mkdirSync(folder, { recursive: true });
  for (const workspace of paths.filter((path) => !path.includes("node_modules/"))) {
    compileWorkspace({ root, workspace, folder });
    const { name, license } = readJson(join(root, workspace, "package.json"));
    writeJson(join(folder, workspace, "package.json"), {
      ...{ name, version, license },
      type: "module",
    });
  }
  for (const [file, remedy] of files) {
    if (!existsSync(join(root, file))) throw new Error(`${file} is missing: ${remedy}.`);
    cpSync(join(root, file), join(folder, file), { recursive: true });
  }
  const program = join(folder, "bin/outrider.js");
  mkdirSync(dirname(program), { recursive: true });
  cpSync(join(root, "packaging/npm/outrider.js"), program);
  chmodSync(program, 0o755);
  cpSync(join(root, "packaging/npm/README.md"), join(folder, "README.md"));
  writeJson(join(folder, "package.json"), describePackage(checkout, lock, paths));
  if (options.modules) copyModules(checkout, paths, folder);
}

/** The dependencies are inside the package, so installing it needs no registry. */
function describePackage(
  { root, version }: Checkout,
  lock: Record<string, LockedPackage>,
  paths: string[],
): object {
  const { name, description, license, engines } = readJson(join(root, "package.json"));
  const dependencies: Record<string, string> = {};
  for (const path of paths) {
    const [, dependency] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    const { version } = lock[path] ?? {};
    if (dependency && version && existsSync(join(root, path))) dependencies[dependency] = version;
  }
  return {
    ...{ name, version, description, license, engines },
    type: "module",
    bin: { outrider: "bin/outrider.js" },
    // The package contains programs for this system only.
    os: [process.platform],
    cpu: [process.arch],
    dependencies,
    bundleDependencies: Object.keys(dependencies),
  };
}

const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"));

function writeJson(file: string, content: object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}
