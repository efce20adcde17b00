import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { writeDeclarations } from "./declarations.ts";

const home = resolve(import.meta.dirname, "..");

/**
 * Builds the npm package and prints its path. The workspace runs TypeScript from `src`, which Node does not support in
 * node_modules. The package therefore contains one ES module, one CommonJS file, and its own package.json.
 */
export async function pack(destination: string): Promise<string> {
  const stage = mkdtempSync(join(tmpdir(), "outrider-sdk-"));
  try {
    await bundle(join(stage, "dist"));
    writeDeclarations(join(stage, "dist"));
    writeFileSync(join(stage, "package.json"), `${JSON.stringify(published(), null, 2)}\n`);
    cpSync(join(home, "README.md"), join(stage, "README.md"));
    cpSync(join(home, "../../LICENSE"), join(stage, "LICENSE"));
    mkdirSync(destination, { recursive: true });
    const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", destination];
    const [{ filename }] = JSON.parse(execFileSync("npm", args, { cwd: stage, encoding: "utf8" }));
    return join(destination, filename);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

async function bundle(dist: string): Promise<void> {
  const input = join(home, "src/index.ts");
  const bundled = await rolldown({ input, platform: "neutral", transform: { target: "es2022" } });
  // Keep function and class names for stack traces. Minified whitespace, and file names that npm sorts next to each
  // other, let gzip compress the two nearly identical files well.
  const minify = {
    compress: false,
    mangle: { keepNames: true },
    codegen: { removeWhitespace: true },
  } as const;
  await bundled.write({ file: join(dist, "index.js"), format: "cjs", minify });
  await bundled.write({ file: join(dist, "esm/index.js"), format: "esm", minify });
  writeFileSync(join(dist, "esm/package.json"), '{ "type": "module" }\n');
  await bundled.close();
}

function published(): object {
  const { name, version, description, keywords, license, sideEffects } = JSON.parse(
    readFileSync(join(home, "package.json"), "utf8"),
  );
  return {
    name,
    version,
    description,
    keywords,
    license,
    type: "commonjs",
    sideEffects,
    engines: { node: ">=20" },
    main: "./dist/index.js",
    module: "./dist/esm/index.js",
    types: "./dist/index.d.ts",
    exports: {
      ".": {
        import: { types: "./dist/index.d.mts", default: "./dist/esm/index.js" },
        require: { types: "./dist/index.d.ts", default: "./dist/index.js" },
      },
      "./package.json": "./package.json",
    },
    files: ["dist"],
  };
}

if (import.meta.main) console.log(await pack(resolve(process.argv[2] ?? ".")));
