/** The conformance suite with pods of a real cluster. */
import { afterAll } from "vitest";
import { testConformance } from "../conformance/conformance.ts";
import { kubernetesPlace } from "./kubernetes-places.ts";
import { stopSharedCluster } from "./shared-cluster.ts";

afterAll(stopSharedCluster);

testConformance(kubernetesPlace);
