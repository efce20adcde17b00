/** Every attempt to escape from a pod with the system of the worker. */
import { afterAll } from "vitest";
import { testEscapes } from "../conformance/conformance.ts";
import { kubernetesPlace } from "./kubernetes-places.ts";
import { stopSharedCluster } from "./shared-cluster.ts";

afterAll(stopSharedCluster);

testEscapes(kubernetesPlace);
