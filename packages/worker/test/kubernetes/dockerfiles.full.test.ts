import { afterAll } from "vitest";
import { testDockerfileBuilds } from "../dockerfiles/dockerfile-builds.ts";
import { expose, sharedCluster, stopSharedCluster } from "./shared-cluster.ts";

afterAll(stopSharedCluster);

testDockerfileBuilds("kubernetes", async (registry) => {
  const { cluster, kubeconfig, systemImage, podFile } = await sharedCluster();
  await expose(cluster, registry);
  return { sandbox: "kubernetes", kubernetes: { kubeconfig, systemImage, podFile } };
});
