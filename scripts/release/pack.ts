import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { writeArchive } from "./archive.ts";
import { type Checkout, readCheckout } from "./checkout.ts";
import { stagePackage } from "./stage.ts";

/** Writes the npm package to a folder and returns its path. */
export function packNpm(checkout: Checkout, destination: string): string {
  const stage = mkdtempSync(join(tmpdir(), "outrider-npm-"));
  try {
    stagePackage(checkout, stage, { modules: true });
    mkdirSync(destination, { recursive: true });
    const file = join(destination, `outrider-${checkout.version}.tgz`);
    writeArchive(checkout, { folder: stage, prefix: "package", file });
    return file;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

if (import.meta.main) console.log(packNpm(readCheckout(), resolve(process.argv[2] ?? ".")));
