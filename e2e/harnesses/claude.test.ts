import { testHarness } from "./suite.ts";

testHarness("claude");
