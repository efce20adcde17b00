/** What workers find out about the network policies of a cluster, before runs depend on them. */
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import {
  type KubernetesProviderOptions,
  openKubernetesProvider,
} from "../../src/sandboxes/kubernetes/kubernetes-provider.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { nodeIp } from "./cluster-files.ts";
import { importSystemImage } from "./cluster-images.ts";
import { createNamespace } from "./namespaces.ts";
import { createPolicy, writeHostUsersFile } from "./sandbox-policy.ts";
import { canRunClusters, startCluster, type TestCluster } from "./test-cluster.ts";

describe.skipIf(!canRunClusters)("a worker that tests the network policies of sandboxes", () => {
  let cluster: TestCluster;
  let systemImage: string;
  let podFile: string;
  beforeAll(async () => {
    cluster = await startCluster();
    systemImage = await importSystemImage(cluster);
    podFile = writeHostUsersFile(cluster);
  });
  afterAll(() => cluster?.stop());

  async function open(
    namespace: string,
    options: Partial<KubernetesProviderOptions> = {},
  ): Promise<SandboxProvider> {
    const { root } = makeRoot();
    const { kubeconfig } = cluster;
    const provider = await openKubernetesProvider({
      ...{ root, log: silent, ...options },
      kubernetes: { kubeconfig, systemImage, podFile, namespace, probeAgainMs: 0 },
    });
    onTestFinished(async () => {
      await provider.stop();
      await removeFolder(dirname(root));
    });
    return provider;
  }
  const networkOf = (provider: SandboxProvider) => provider.capabilities().network;
  const reasonOf = (provider: SandboxProvider) => {
    const network = networkOf(provider);
    return network.enforced ? "" : network.reason;
  };
  const openWithNetwork = (provider: SandboxProvider) =>
    provider.open({
      ...{ id: randomUUID(), deadline: inMs(120_000), label: {} },
      network: (connection) => connection.destroy(),
    });
  const enforced = { enforced: true, by: "a network policy of the cluster" };

  // The tests after it need a cluster that enforces policies.
  test("names what pods reach, and looks again when a run needs the network", async () => {
    const namespace = await createNamespace(cluster);
    // Any server that pods can reach by default will do, so the address of the API server is used.
    const provider = await open(namespace, { server: `http://${nodeIp}:6443` });
    const reason = reasonOf(provider);
    for (const target of [
      /the API server \(10\.96\.0\.1:443\)/,
      /the kubelet of its node \(10\.99\.0\.2:10250\)/,
      /the DNS server of the cluster \(10\.99\.0\.2:53\/udp\)/,
      /the Outrider server \(10\.99\.0\.2:6443\)/,
      /another pod \(10\.244\.0\.\d+:\d+\)/,
      /Other pods reach a pod of a sandbox \(10\.244\.0\.\d+:\d+\)/,
    ])
      expect(reason).toMatch(target);
    // No test cluster leads to it, so it says nothing about policies.
    expect(reason).not.toContain("the Internet");
    await expect(openWithNetwork(provider)).rejects.toThrow(/network mode cannot be enforced/);
    await createPolicy(cluster, { namespace });
    await cluster.enforcePolicies();
    const sandbox = await openWithNetwork(provider);
    expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
    await sandbox.close();
    expect(networkOf(provider)).toEqual(enforced);
    expect(await cluster.kubectl(["get", "pods", `--namespace=${namespace}`, "--output=name"])).toBe("");
  });

  test("notices another policy that allows sandboxes to ask the DNS server", async () => {
    const namespace = await createNamespace(cluster);
    await createPolicy(cluster, { namespace });
    const dns = ["UDP", "TCP"].map((protocol) => ({ protocol, port: 53 }));
    await createPolicy(cluster, {
      ...{ namespace, name: "allow-dns", podSelector: {} },
      ...{ policyTypes: ["Egress"], egress: [{ ports: dns }] },
    });
    const reason = reasonOf(await open(namespace));
    expect(reason).toMatch(
      /^Pods of sandboxes reach the DNS server of the cluster \(10\.99\.0\.2:53\/udp\)\. Install the network policy/,
    );
  });

  test("notices that other pods reach sandboxes", async () => {
    const namespace = await createNamespace(cluster);
    await createPolicy(cluster, { namespace, policyTypes: ["Egress"] });
    expect(reasonOf(await open(namespace))).toMatch(/^Other pods reach a pod of a sandbox \(\S+\)\. Install/);
  });

  test("proves nothing if a pod without the policy reaches nothing either", async () => {
    const namespace = await createNamespace(cluster);
    await createPolicy(cluster, { namespace, podSelector: {} });
    expect(reasonOf(await open(namespace))).toMatch(
      /cannot be tested: a pod without the label of sandboxes reaches nothing either\. Let pods with the label/,
    );
  });

  test("proves nothing if it may not create another pod", async () => {
    const namespace = await createNamespace(cluster);
    await createPolicy(cluster, { namespace });
    await cluster.kubectl(["create", "quota", "few", "--hard=pods=1", `--namespace=${namespace}`]);
    await expect
      .poll(async () => reasonOf(await open(namespace)), { timeout: 120_000 })
      .toMatch(/cannot be tested: The quota of the namespace/);
  });

  test("proves nothing in a network that is closed for all pods", async () => {
    await cluster.denyPodTraffic();
    const namespace = await createNamespace(cluster);
    await createPolicy(cluster, { namespace });
    expect(reasonOf(await open(namespace))).toContain("reaches nothing either");
  });
});
