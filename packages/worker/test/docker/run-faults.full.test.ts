import { faults } from "./run-faults/faults.ts";
import { testRunFaults } from "./run-faults/test-run-faults.ts";

testRunFaults(Object.keys(faults) as (keyof typeof faults)[]);
