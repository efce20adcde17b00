import { formatBytes, formatCount } from "../ui/format/numbers.ts";

interface ResourceLabel {
  name: string;
  amount: (limit: number) => string;
}

const MIB = 1024 * 1024;
const plain = (limit: number) => formatCount(limit);

const resources: Record<string, ResourceLabel> = {
  memory: { name: "Memory", amount: (limit) => formatBytes(limit * MIB) },
  cpus: { name: "CPUs", amount: plain },
  pids: { name: "Processes", amount: plain },
  disk: { name: "Disk", amount: (limit) => formatBytes(limit * MIB) },
  network: { name: "Network", amount: plain },
  seccomp: { name: "System calls", amount: plain },
  dockerfiles: { name: "Dockerfiles", amount: plain },
  freeze: { name: "Freezing all processes", amount: plain },
};

/** Returns a limit's label. Unknown limits are labeled with their own name. */
export function resourceLabel(name: string): ResourceLabel {
  return resources[name] ?? { name, amount: plain };
}
