import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const home = resolve(import.meta.dirname, "..");
const importPattern = /^import (?:type )?\{([^}]*)\} from "([^"]+)";\n/gm;

/**
 * Writes the package's type declarations. They are CommonJS: ES modules can import them, but CommonJS cannot import
 * types of ES modules.
 *
 * Each file of a package costs about 100 bytes, so the resources share one file, and only modules that index.d.ts
 * reaches have declarations.
 */
export function writeDeclarations(dist: string): void {
  execFileSync("tsc", ["-p", join(home, "tsconfig.build.json"), "--outDir", dist], { stdio: "inherit" });
  mergeResources(dist);
  const reached = new Set<string>();
  reach("index.d.ts", dist, reached);
  for (const file of globSync("**/*.d.ts", { cwd: dist })) if (!reached.has(file)) rmSync(join(dist, file));
  for (const file of reached) {
    const text = readFileSync(join(dist, file), "utf8");
    writeFileSync(join(dist, file), text.replaceAll(/(from "\.\/[^"]+)\.ts"/g, '$1.js"'));
  }
  writeFileSync(join(dist, "index.d.mts"), 'export * from "./index.js";\n');
}

/** Joins the declarations of all resources, and imports each name that they use once. */
function mergeResources(dist: string): void {
  const imports = new Map<string, Set<string>>();
  const bodies: string[] = [];
  for (const file of globSync("resources/*.d.ts", { cwd: dist }).toSorted()) {
    const text = readFileSync(join(dist, file), "utf8");
    for (const [, names = "", module = ""] of text.matchAll(importPattern)) {
      const path = module.replace("../", "./");
      const known = imports.get(path) ?? new Set();
      for (const name of names.split(",")) known.add(name.replace("type ", "").trim());
      imports.set(path, known);
    }
    bodies.push(text.replaceAll(importPattern, ""));
  }
  const lines = [...imports].map(([path, names]) => {
    const listed = [...names].filter((name) => name !== "").toSorted();
    return `import type { ${listed.join(", ")} } from "${path}";\n`;
  });
  writeFileSync(join(dist, "resources.d.ts"), [...lines, ...bodies].join(""));
  for (const file of globSync("*.d.ts", { cwd: dist })) {
    const text = readFileSync(join(dist, file), "utf8");
    writeFileSync(
      join(dist, file),
      text.replaceAll(/from "\.\/resources\/\w+\.ts"/g, 'from "./resources.ts"'),
    );
  }
}

/** Adds a declaration file and all files that it imports. */
function reach(file: string, dist: string, reached: Set<string>): void {
  if (reached.has(file)) return;
  reached.add(file);
  for (const [, path] of readFileSync(join(dist, file), "utf8").matchAll(/from "\.\/([^"]+)\.ts"/g))
    reach(`${path}.d.ts`, dist, reached);
}
