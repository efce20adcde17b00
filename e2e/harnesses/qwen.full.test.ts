import { testHarness } from "./suite.ts";

// It needs about 2 GB of memory.
testHarness("qwen", { slots: 1 });
