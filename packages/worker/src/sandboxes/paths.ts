/**
 * The folders that every sandbox has, as commands see them. They are the same for all providers: builds, snapshots and
 * receipts contain them, and a run may continue on another worker.
 */
export const sandboxPaths = { workspace: "/workspace", home: "/home/sandbox", tmp: "/tmp" } as const;

/**
 * The folders of agents other than Outrider's own, which only the sandboxes of their runs have. `agentRuntime` contains
 * Node and the libraries of the worker's system, and `agentPackages` the agent's npm packages.
 */
export const agentPaths = {
  agentRuntime: "/opt/outrider/lib",
  agentPackages: "/opt/outrider/agent",
} as const;

/** The search path of commands if an image sets none. */
export const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
