import { randomUUID } from "node:crypto";
import type { EndedRun, HostileInstallation } from "./installation.ts";
import { attacks } from "./mcp/attacks.ts";
import { answers } from "./models/answers.ts";
import { createHostileRepository, repositories } from "./repositories.ts";

/** A kind of hostile run. */
export interface Kind {
  name: string;
  /** Matches the summary of the run, so that an attack that did not take place is noticed. */
  expected: RegExp;
  /** Whether the run must call the tool of the MCP server. */
  callsTool: boolean;
  execute(): Promise<EndedRun>;
}

const TOOL = "hostile__attack";

/** Returns all kinds of attacks. Those of different groups take turns. */
export function listKinds(installation: HostileInstallation, key: string): Kind[] {
  const { mcpUrl } = installation.providers;
  return interleave([
    mcpKinds(installation, key, {
      transport: "stdio",
      server: (name) => ({ command: "/opt/hostile/node", args: ["/opt/hostile/mcp/stdio-server.ts", name] }),
    }),
    mcpKinds(installation, key, { transport: "HTTP", server: (name) => ({ url: mcpUrl("json", name) }) }),
    mcpKinds(installation, key, {
      transport: "an event stream",
      server: (name) => ({ url: mcpUrl("sse", name) }),
    }),
    modelKinds(installation, key),
    repositoryKinds(installation, key),
  ]);
}

/** Returns whether the run has reached a time limit, as on a busy machine. */
export function wasTooSlow({ summary }: EndedRun): boolean {
  return /^timeout: |was not ready after \d+ s|did not respond within \d+ s/.test(summary);
}

/** Returns whether the run has ended as its kind must end. */
export function isExpected({ expected, callsTool }: Kind, { calledTools, summary }: EndedRun): boolean {
  return expected.test(summary) && (!callsTool || calledTools.includes(TOOL));
}

function mcpKinds(
  { execute }: HostileInstallation,
  key: string,
  { transport, server }: { transport: string; server(attack: string): object },
): Kind[] {
  return Object.entries(attacks).map(([name, { call, expected }]) => ({
    name: `MCP over ${transport}: ${name}`,
    expected,
    callsTool: call !== undefined,
    execute: () =>
      execute(key, {
        prompt: `CALL: ${TOOL}\nSAY: done`,
        config: { mcp_servers: { hostile: server(name) } },
      }),
  }));
}

function modelKinds({ execute }: HostileInstallation, key: string): Kind[] {
  return Object.entries(answers).map(([name, { expected }]) => ({
    name: `model: ${name}`,
    expected,
    callsTool: false,
    execute: () => execute(key, { prompt: "Do it.", config: { model_id: `hostile/${name}` } }),
  }));
}

function repositoryKinds(
  { execute, request, adminKey, repositories: folder }: HostileInstallation,
  key: string,
): Kind[] {
  return Object.entries(repositories).map(([name, { expected, skill }]) => {
    const url = createHostileRepository(folder, name);
    // Every run prepares the environment again, because it has another setup command.
    const environment = () => ({
      name: `${name} ${randomUUID()}`,
      repos: [{ url }],
      setup_commands: [`: ${randomUUID()}`],
    });
    return {
      name: `repository: ${name}`,
      expected,
      callsTool: false,
      async execute() {
        const { environment_id } = await request(adminKey, "POST", "/agent/environments", environment());
        const config = { environment_id, ...(skill ? { skill_spec: `hostile/${name}:${skill}` } : {}) };
        return execute(key, { prompt: "RUN: ls /workspace\nSAY: done", config });
      },
    };
  });
}

function interleave<T>(groups: T[][]): T[] {
  const longest = Math.max(...groups.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) =>
    groups.flatMap((group) => group.slice(index, index + 1)),
  ).flat();
}
