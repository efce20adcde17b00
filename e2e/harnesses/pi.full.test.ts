import { testHarness } from "./suite.ts";

testHarness("pi", { unsupported: { mcp: "No MCP" } });
