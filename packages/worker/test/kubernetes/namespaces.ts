/** Namespaces and accounts with few rights for tests. */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import type { TestCluster } from "./test-cluster.ts";

/** Creates a namespace in which pods can be created, and returns its name. */
export async function createNamespace({ kubectl }: TestCluster): Promise<string> {
  const name = `test-${randomUUID()}`;
  await kubectl(["create", "namespace", name]);
  await vi.waitUntil(
    () =>
      kubectl(["get", "serviceaccount", "default", `--namespace=${name}`]).then(
        () => true,
        () => false,
      ),
    waitOptions,
  );
  return name;
}

interface Rule {
  resources: string[];
  verbs: string[];
}

/** Creates an account that has only these rights in a namespace. Returns the path of its kubeconfig file. */
export async function createAccount(cluster: TestCluster, namespace: string, rules: Rule[]): Promise<string> {
  const name = `account-${randomUUID()}`;
  const inNamespace = `--namespace=${namespace}`;
  await cluster.kubectl(["create", "serviceaccount", name, inNamespace]);
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const role = {
    ...{ apiVersion, kind: "Role", metadata: { name } },
    rules: rules.map((rule) => ({ apiGroups: [""], ...rule })),
  };
  const binding = {
    ...{ apiVersion, kind: "RoleBinding", metadata: { name } },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  };
  for (const object of [role, binding])
    await cluster.kubectl(["create", "-f", "-", inNamespace], { ...object });
  const token = (await cluster.kubectl(["create", "token", name, inNamespace])).trim();
  const config = JSON.parse(readFileSync(cluster.kubeconfig, "utf8"));
  config.users[0].user = { token };
  const path = join(cluster.folder, `${name}.kubeconfig`);
  writeFileSync(path, JSON.stringify(config));
  return path;
}
