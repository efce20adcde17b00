/** Every attempt to escape from a pod that has an image. */
import { afterAll } from "vitest";
import { testEscapes } from "../conformance/conformance.ts";
import { kubernetesImagePlace } from "./kubernetes-places.ts";
import { stopSharedCluster } from "./shared-cluster.ts";

afterAll(stopSharedCluster);

testEscapes(kubernetesImagePlace);
