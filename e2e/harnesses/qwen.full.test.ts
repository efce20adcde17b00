import { testHarness } from "./suite.ts";

testHarness("qwen");
