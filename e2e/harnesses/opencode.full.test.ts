import { testHarness } from "./suite.ts";

// Its start takes seconds of processor time.
testHarness("opencode", { slots: 1 });
