import { join } from "node:path";
import { writeArchive } from "./archive.ts";
import type { Checkout } from "./checkout.ts";

/** Packs the Helm chart in the form that `helm install` takes. Returns the path of the file. */
export function packChart(checkout: Checkout, destination: string): string {
  const file = join(destination, `outrider-chart-${checkout.version}.tgz`);
  const folder = join(checkout.root, "packaging/helm/outrider");
  writeArchive(checkout, { folder, prefix: "outrider", file });
  return file;
}
