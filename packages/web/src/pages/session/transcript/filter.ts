import type { Blocks } from "../log/blocks.ts";
import type { Kind } from "../log/kinds.ts";

export type FilterName = "all" | "messages" | "commands" | "changes" | "tools" | "failed";

const shown: Partial<Record<FilterName, ReadonlySet<Kind>>> = {
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
  /** 0 for all of them. */
  turn: number;
}

/** The numbers of the blocks that are shown, in order. */
export function select(blocks: Blocks, count: number, { name, turn }: Filter): Uint32Array {
  const found = new Uint32Array(count);
  const wanted = shown[name];
  let length = 0;
  for (let block = 0; block < count; block++) {
    if (turn > 0 && blocks.turn(block) !== turn) continue;
    if (name === "failed" ? !blocks.isFailed(block) : wanted && !wanted.has(blocks.kind(block))) continue;
    if (name !== "tools" && blocks.isQuiet(block)) continue;
    found[length] = block;
    length += 1;
  }
  return found.subarray(0, length);
}

/** Where the block stands among those shown, or the one that would come next. */
export function placeOf(selection: Uint32Array, block: number): number {
  let low = 0;
  let high = selection.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((selection[middle] as number) < block) low = middle + 1;
    else high = middle;
  }
  return low;
}
