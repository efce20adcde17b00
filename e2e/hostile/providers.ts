import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export interface HostileProviders {
  /** The address of the MCP servers. */
  mcpAddress: string;
  mcpUrl(form: "json" | "sse", attack: string): string;
  modelUrl: string;
  stop(): void;
}

/** Starts the hostile MCP servers and models in a process of their own, because they keep it busy. */
export async function startHostileProviders(): Promise<HostileProviders> {
  const child = fork(join(import.meta.dirname, "provider-process.ts"));
  const [{ mcpPort, modelPort }] = await once(child, "message");
  const mcpAddress = `127.0.0.1:${mcpPort}`;
  return {
    mcpAddress,
    mcpUrl: (form, attack) => `http://${mcpAddress}/${form}/${encodeURIComponent(attack)}`,
    modelUrl: `http://127.0.0.1:${modelPort}/v1`,
    stop: () => child.disconnect(),
  };
}
