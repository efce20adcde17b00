/** Whole runs with pods, while the worker, the API server, the node and its pods fail. */
import { faults } from "../run-faults/faults.ts";
import { testRunFaults } from "../run-faults/test-run-faults.ts";
import { clusterFaults } from "./cluster-faults.ts";
import { startFaultyCluster } from "./faulty-cluster.ts";
import { canRunClusters } from "./test-cluster.ts";

testRunFaults("pods", {
  ...{ isPossible: canRunClusters, startEngine: startFaultyCluster },
  faults: { ...faults, ...clusterFaults },
});
