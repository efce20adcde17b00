import { failures } from "./failures.ts";
import { testFailures } from "./failures-suite.ts";

testFailures(Object.keys(failures));
