import { faults } from "../run-faults/faults.ts";
import { testRunFaults } from "../run-faults/test-run-faults.ts";
import { dockerFaults } from "./docker-faults.ts";
import { startFaultyDocker } from "./faulty-docker.ts";
import { canRunEngines } from "./test-engine.ts";

testRunFaults("containers", {
  isPossible: canRunEngines,
  startEngine: startFaultyDocker,
  faults: { ...faults, ...dockerFaults },
});
