import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import type { Checkout } from "./checkout.ts";
import { findRuntimePackages, readLock } from "./modules.ts";

interface Sbom {
  serialNumber: string;
  metadata: { timestamp: string; component: { name: string } };
  components: { "bom-ref": string }[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

/**
 * Returns the bill of materials of a release as CycloneDX JSON: what the service needs at run time and what is built into
 * the web app, but no tools of the developers. npm writes it, and the parts that change with each call become fixed.
 */
export function createSbom(checkout: Checkout): string {
  const { root, epoch } = checkout;
  const args = ["sbom", "--sbom-format=cyclonedx", "--sbom-type=application", "--package-lock-only"];
  const output = execFileSync("npm", args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 64 * 1024 * 1024,
  });
  const sbom = JSON.parse(output) as Sbom;
  const lock = readLock(checkout);
  const paths = findRuntimePackages(lock, ["packages/cli", "packages/web"]);
  const shipped = new Set(paths.map((path) => `${nameOf(path)}@${lock[path]?.version}`));
  sbom.components = sbom.components.filter((component) => shipped.has(component["bom-ref"]));
  sbom.dependencies = sbom.dependencies
    .filter(({ ref }) => shipped.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((target) => shipped.has(target)),
    }));
  sbom.components.push(describeNode());
  // npm writes the name of the folder.
  sbom.metadata.component.name = "outrider";
  sbom.metadata.timestamp = new Date(epoch * 1_000).toISOString();
  sbom.serialNumber = "";
  sbom.serialNumber = `urn:uuid:${uuidOf(JSON.stringify(sbom))}`;
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

/** The name of a package at a path of the lockfile. A workspace's path is its name in the scope. */
function nameOf(path: string): string {
  const index = path.lastIndexOf("node_modules/");
  return index < 0 ? path.replace("packages/", "@outrider/") : path.slice(index + "node_modules/".length);
}

/** The offline bundle contains Node. */
function describeNode(): Sbom["components"][number] {
  const { node: version } = process.versions;
  return {
    ...{ type: "platform", name: "node", version, "bom-ref": `node@${version}` },
    ...{ purl: `pkg:generic/node@${version}`, licenses: [{ license: { id: "MIT" } }] },
  };
}

/** A UUID of version 8 from a hash. */
function uuidOf(text: string): string {
  const digest = createHash("sha256").update(text).digest("hex");
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`];
  return [...parts, `8${digest.slice(17, 20)}`, digest.slice(20, 32)].join("-");
}
