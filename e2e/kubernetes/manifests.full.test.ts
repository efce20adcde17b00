import { execFile } from "node:child_process";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  canRunClusters,
  startCluster,
  type TestCluster,
} from "../../packages/worker/test/kubernetes/test-cluster.ts";
import { allValues, bundledValues, externalValues } from "./chart-values.ts";
import { type Manifest, renderChart, runProgram } from "./helm.ts";
import { schemaLocation, writeSchemas } from "./manifest-schemas.ts";

/** Validates the objects of the chart with the API of a real cluster that has KEDA's definitions. */
const timeout = 3_600_000;
const keda = "github.com/kedacore/keda/v2@v2.18.0";
const cases: Record<string, object> = { external: externalValues, bundled: bundledValues, all: allValues };

/** The Go module of KEDA contains its definitions. */
async function findKedaDefinitions(): Promise<string[]> {
  const { stdout } = await promisify(execFile)("go", ["mod", "download", "-json", keda], { cwd: tmpdir() });
  return globSync(
    join(JSON.parse(stdout).Dir, "config/crd/bases/keda.sh_{scaledobjects,triggerauthentications}.yaml"),
  );
}

describe.skipIf(!canRunClusters)("the objects of the Helm chart", () => {
  const folder = mkdtempSync(join(tmpdir(), "outrider-schemas-"));
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startCluster();
    for (const name of ["outrider", "sandboxes"]) await cluster.kubectl(["create", "namespace", name]);
    await cluster.kubectl(["create", "priorityclass", "important", "--value=1000"]);
    for (const file of await findKedaDefinitions()) {
      await cluster.kubectl(["create", "--filename", file]);
      await cluster.kubectl(["wait", "--for=condition=Established", "--filename", file, "--timeout=60s"]);
    }
  }, timeout);
  afterAll(async () => {
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const toList = (items: Manifest[]) => ({ apiVersion: "v1", kind: "List", items });

  it.each(Object.entries(cases))(
    "are accepted by the API server with the values %s",
    async (_name, values) => {
      const options = ["--dry-run=server", "--validate=strict", "--filename=-"];
      await cluster.kubectl(["create", ...options], toList(await renderChart(values)));
    },
  );

  it.each(Object.entries(cases))("pass kubeconform with the values %s", async (_name, values) => {
    const manifests = await renderChart(values);
    const openApi = JSON.parse(await cluster.kubectl(["get", "--raw", "/openapi/v2"]));
    writeSchemas(
      folder,
      openApi,
      manifests.map(({ kind }) => kind),
    );
    const validate = (items: Manifest[]) =>
      runProgram(
        "kubeconform",
        ["-strict", "-summary", "-schema-location", schemaLocation(folder), "-"],
        items.map((manifest) => JSON.stringify(manifest)).join("\n---\n"),
      );
    expect(await validate(manifests)).toContain(
      `Valid: ${manifests.length}, Invalid: 0, Errors: 0, Skipped: 0`,
    );
    const [deployment] = manifests.filter(({ kind }) => kind === "Deployment");
    const wrong = { ...deployment, spec: { ...deployment?.spec, replica: 1 } } as Manifest;
    await expect(validate([wrong])).rejects.toThrow("replica");
  });

  it("are pods that the Pod Security Standard `restricted` accepts", async () => {
    const policy = "pod-security.kubernetes.io/enforce=restricted";
    await cluster.kubectl(["label", "namespace", "outrider", policy]);
    const manifests = (await Promise.all(Object.values(cases).map((values) => renderChart(values)))).flat();
    const pods = manifests
      .filter(({ spec }) => spec?.template?.spec)
      .map(({ kind, metadata, spec: { template } }, index) => ({
        ...{ apiVersion: "v1", kind: "Pod", spec: { ...template.spec, serviceAccountName: undefined } },
        metadata: { name: `${kind.toLowerCase()}-${metadata.name}-${index}`, namespace: "outrider" },
      }));
    // A claim of a StatefulSet is a volume of its pods.
    for (const { spec } of pods)
      for (const { volumeMounts } of spec.containers)
        for (const { name } of volumeMounts)
          if (!spec.volumes.some((volume: { name: string }) => volume.name === name))
            spec.volumes.push({ name, emptyDir: {} });
    await cluster.kubectl(
      ["create", "--dry-run=server", "--filename=-"],
      toList(pods as unknown as Manifest[]),
    );
  });
});
