import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openCluster } from "../../src/sandboxes/kubernetes/cluster/connect.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "outrider-kubeconfig-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a file with one cluster. */
function write(name: string, current: string | undefined): string {
  const path = join(folder, name);
  const config = {
    clusters: [{ name, cluster: { server: `https://${name}.test:6443` } }],
    users: [{ name, user: { token: name } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: `namespace-${name}` } }],
    "current-context": current,
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

test("several kubeconfig files are merged, and the first current context is used", async () => {
  const [a, b, c] = [write("a", undefined), write("b", "b"), write("c", "c")];
  const kubeconfig = ["", a, b, c].join(delimiter);
  const { address, namespace } = await openCluster({ kubeconfig });
  expect([address, namespace]).toEqual(["https://b.test:6443", "namespace-b"]);
  expect((await openCluster({ kubeconfig, context: "c" })).address).toBe("https://c.test:6443");
});

test("a kubeconfig file without the context names those that it has", async () => {
  const kubeconfig = [write("a", undefined), write("b", "b")].join(delimiter);
  await expect(openCluster({ kubeconfig, context: "missing" })).rejects.toMatchObject({
    message: 'The kubeconfig file has no context "missing". Set --kubernetes-context to one of: a, b.',
  });
  await expect(openCluster({ kubeconfig: join(folder, "missing") })).rejects.toThrow(/ENOENT.*KUBECONFIG/);
});
