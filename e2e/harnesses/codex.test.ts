import { testHarness } from "./suite.ts";

testHarness("codex");
