import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join, relative } from "node:path";

/**
 * Compiles the sources of a workspace to JavaScript, because Node refuses to run TypeScript inside node_modules. Only types
 * are removed, so positions in stack traces stay the same. Imports of other workspaces become relative paths.
 */
export function compileWorkspace(options: { root: string; workspace: string; folder: string }): void {
  const { root, workspace, folder } = options;
  for (const file of globSync(`${workspace}/src/**/*`, { cwd: root, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const source = join(file.parentPath, file.name);
    const path = relative(root, source);
    const target = join(folder, toJavaScript(path));
    mkdirSync(dirname(target), { recursive: true });
    if (!path.endsWith(".ts")) cpSync(source, target);
    else if (!path.endsWith(".d.ts"))
      writeFileSync(target, compile(readFileSync(source, "utf8"), path, root));
  }
}

const toJavaScript = (path: string) => path.replace(/\.ts$/, ".js");

/** The places that name a file of the sources: imports, programs that are started by URL, and those started by path. */
const references = [
  /(\bfrom\s*|\bimport\s*\(?\s*)"([^"\n]+)"/g,
  /(\bnew URL\(\s*)"([^"\n]+\.ts)"/g,
  /(\bimport\.meta\.dirname,\s*)"([^"\n]+\.ts)"/g,
];

export function compile(code: string, path: string, root: string): string {
  let output = stripTypeScriptTypes(code);
  for (const pattern of references)
    output = output.replace(pattern, (_, before, specifier) => `${before}"${rewrite(specifier, path)}"`);
  for (const [, name = ""] of output.matchAll(/"([^"\n]*\.ts)"/g))
    if (existsSync(join(root, dirname(path), name)))
      throw new Error(`${path} names the source file ${name} in a way that scripts/release does not know.`);
  return output;
}

function rewrite(specifier: string, path: string): string {
  const [, workspace, file = "index"] = /^@outrider\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? [];
  if (!workspace) return /^\.|\.ts$/.test(specifier) ? toJavaScript(specifier) : specifier;
  const target = relative(dirname(path), `packages/${workspace}/src/${file}.js`);
  return target.startsWith(".") ? target : `./${target}`;
}
