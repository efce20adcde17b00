/** The conformance suite with pods of a real cluster. */
import { afterAll } from "vitest";
import { testCommands } from "../conformance/commands.ts";
import { testFiles } from "../conformance/files.ts";
import { testIsolation } from "../conformance/isolation.ts";
import { testLifecycle } from "../conformance/lifecycle.ts";
import { testLimits } from "../conformance/limits.ts";
import { testNetwork } from "../conformance/network.ts";
import { testProcesses } from "../conformance/processes.ts";
import { testSnapshots } from "../conformance/snapshots.ts";
import { kubernetesPlace } from "./kubernetes-places.ts";
import { stopSharedCluster } from "./shared-cluster.ts";

afterAll(stopSharedCluster);

const topics = [testCommands, testFiles, testProcesses, testLifecycle, testSnapshots];
const enforcementTopics = [testIsolation, testLimits, testNetwork];

for (const test of [...topics, ...enforcementTopics]) test(kubernetesPlace);
