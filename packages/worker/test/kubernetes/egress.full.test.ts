/** The network policy, as commands in the pods of a real cluster meet it. */
import { afterAll } from "vitest";
import { testEgress } from "../egress/suite/egress.ts";
import { kubernetesImagePlace, kubernetesPlace } from "./kubernetes-places.ts";
import { stopSharedCluster } from "./shared-cluster.ts";

afterAll(stopSharedCluster);

for (const place of [kubernetesPlace, kubernetesImagePlace]) testEgress(place);
