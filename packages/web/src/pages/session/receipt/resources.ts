import { bytes, count } from "../../../ui/amount.ts";

interface ResourceWords {
  name: string;
  amount: (limit: number) => string;
}

const MIB = 1024 * 1024;
const plain = (limit: number) => count(limit);

const resources: Record<string, ResourceWords> = {
  memory: { name: "Memory", amount: (limit) => bytes(limit * MIB) },
  cpus: { name: "Processors", amount: plain },
  pids: { name: "Processes", amount: plain },
  disk: { name: "Disk", amount: (limit) => bytes(limit * MIB) },
  network: { name: "Network", amount: plain },
  seccomp: { name: "System calls", amount: plain },
  freeze: { name: "Stopping all at once", amount: plain },
};

/** A limit in words; one that this page does not know yet keeps its own name. */
export function resourceWords(name: string): ResourceWords {
  return resources[name] ?? { name, amount: plain };
}
