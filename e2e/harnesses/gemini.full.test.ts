import { testHarness } from "./suite.ts";

// Its start takes seconds of processor time.
testHarness("gemini", { slots: 1 });
