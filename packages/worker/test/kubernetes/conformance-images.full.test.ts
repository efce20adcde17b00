/** The conformance suite with pods that have an image. */
import { afterAll } from "vitest";
import { testConformance } from "../conformance/conformance.ts";
import { kubernetesImagePlace } from "./kubernetes-places.ts";
import { stopSharedCluster } from "./shared-cluster.ts";

afterAll(stopSharedCluster);

testConformance(kubernetesImagePlace);
