import { startMcpServer } from "./mcp/http-server.ts";
import { startModelProvider } from "./models/server.ts";

/** The program of the process that serves the hostile MCP servers and models. It exits with its parent. */

process.send?.({ mcpPort: await startMcpServer(), modelPort: await startModelProvider() });
process.once("disconnect", () => process.exit());
