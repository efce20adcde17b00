import { testRunFaults } from "./run-faults/test-run-faults.ts";

testRunFaults(["kill the worker", "kill the engine"]);
