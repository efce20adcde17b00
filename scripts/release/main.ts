import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { writeArchive } from "./archive.ts";
import { bundleName, stageBundle } from "./bundle.ts";
import { readSection } from "./changelog.ts";
import { packChart } from "./chart.ts";
import { type Checkout, readCheckout } from "./checkout.ts";
import { createSbom } from "./sbom.ts";
import { stagePackage } from "./stage.ts";

/**
 * Makes a release of this checkout: the npm package, the offline bundle, the Helm chart, the release notes, the bill of
 * materials and the checksums. The same commit on the same system gives the same bytes.
 */
export function makeRelease(checkout: Checkout, destination: string): string[] {
  const { root, version } = checkout;
  const notes = readSection(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version);
  const stage = mkdtempSync(join(tmpdir(), "outrider-release-"));
  mkdirSync(destination, { recursive: true });
  const target = (name: string) => join(destination, name);
  try {
    const bundle = join(stage, "bundle");
    const lib = join(stage, "package");
    stagePackage(checkout, lib, { modules: true });
    writeArchive(checkout, { folder: lib, prefix: "package", file: target(`outrider-${version}.tgz`) });
    stageBundle(checkout, bundle);
    renameSync(lib, join(bundle, "lib"));
    const prefix = bundleName(checkout);
    writeArchive(checkout, { folder: bundle, prefix, file: target(`${prefix}.tar.gz`) });
    const chart = packChart(checkout, destination);
    writeFileSync(target(`outrider-${version}.cdx.json`), createSbom(checkout));
    writeFileSync(target(`outrider-${version}.md`), notes);
    const files = [
      ...[`outrider-${version}.tgz`, `${prefix}.tar.gz`].map(target),
      chart,
      ...[`outrider-${version}.cdx.json`, `outrider-${version}.md`].map(target),
    ];
    writeFileSync(target("SHA256SUMS"), files.map(checksumLine).join(""));
    return [...files, target("SHA256SUMS")];
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** A line as `sha256sum --check` reads it. */
function checksumLine(file: string): string {
  return `${createHash("sha256").update(readFileSync(file)).digest("hex")}  ${basename(file)}\n`;
}

if (import.meta.main) {
  const checkout = readCheckout();
  const destination = resolve(process.argv[2] ?? join(checkout.root, "release"));
  for (const file of makeRelease(checkout, destination)) console.log(file);
}
