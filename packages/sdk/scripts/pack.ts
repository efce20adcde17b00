import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";

const home = resolve(import.meta.dirname, "..");

/**
 * Makes the package that is published and answers where it lies. The workspace runs from `src`, which Node does not take
 * from node_modules; so the package has JavaScript in both forms, each in one file, and a package.json of its own.
 */
export async function pack(destination: string): Promise<string> {
  const stage = mkdtempSync(join(tmpdir(), "outrider-sdk-"));
  try {
    await bundle(join(stage, "dist"));
    declare(join(stage, "dist"));
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
  // Names of functions and classes stay for who reads a stack trace. Without the room between words, and with the same
  // ending, by which npm sorts what it packs, gzip sees that both forms are nearly one text.
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

/** One set of types, in CommonJS form: ES modules may import them, the other way round is forbidden. */
function declare(dist: string): void {
  execFileSync("tsc", ["-p", join(home, "tsconfig.build.json"), "--outDir", dist], { stdio: "inherit" });
  for (const file of globSync("**/*.d.ts", { cwd: dist })) {
    const text = readFileSync(join(dist, file), "utf8");
    writeFileSync(join(dist, file), text.replaceAll(/(from "\.{1,2}\/[^"]+)\.ts"/g, '$1.js"'));
  }
  writeFileSync(join(dist, "index.d.mts"), 'export * from "./index.js";\n');
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
