import type { Kind } from "../log/block-kinds.ts";
import type { Blocks } from "../log/blocks.ts";

export type FilterName = "all" | "messages" | "commands" | "changes" | "tools" | "failed";

const kindsByFilter: Partial<Record<FilterName, ReadonlySet<Kind>>> = {
  messages: new Set<Kind>(["prompt", "message", "question"]),
  commands: new Set<Kind>(["command"]),
  changes: new Set<Kind>(["change"]),
  tools: new Set<Kind>(["tool"]),
};

export const filters: { name: FilterName; label: string }[] = [
  { name: "all", label: "All" },
  { name: "messages", label: "Messages" },
  { name: "commands", label: "Commands" },
  { name: "changes", label: "Changes" },
  { name: "tools", label: "Tools" },
  { name: "failed", label: "Failed" },
];

export interface Filter {
  name: FilterName;
  /** The turn to show, or 0 for all turns. */
  turn: number;
}

/** Returns the numbers of the visible blocks, in order. */
export function select(blocks: Blocks, count: number, { name, turn }: Filter): Uint32Array {
  const found = new Uint32Array(count);
  const kinds = kindsByFilter[name];
  let length = 0;
  for (let block = 0; block < count; block++) {
    if (turn > 0 && blocks.turn(block) !== turn) continue;
    if (name === "failed" ? !blocks.isFailed(block) : kinds && !kinds.has(blocks.kind(block))) continue;
    if (name !== "tools" && blocks.isRedundant(block)) continue;
    found[length] = block;
    length += 1;
  }
  return found.subarray(0, length);
}

/** Returns a block's position among the visible blocks, or the position of the next visible block. */
export function positionOf(selection: Uint32Array, block: number): number {
  let low = 0;
  let high = selection.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((selection[middle] as number) < block) low = middle + 1;
    else high = middle;
  }
  return low;
}
