import type { Blocks } from "../log/blocks.ts";

const HEAD = 38;
const ROW = 22;
const CODE_ROW = 20;

/** Estimates a block's height before it is rendered. The better the estimate, the less the page shifts. */
export function estimateHeight(blocks: Blocks, block: number): number {
  const lines = blocks.lines(block);
  switch (blocks.kind(block)) {
    case "prompt":
    case "message":
      return HEAD + 14 + Math.min(lines, 90) * ROW;
    case "command": {
      // The first line is the command itself.
      const printed = Math.max(0, lines - 2);
      const shown = blocks.isFailed(block) ? 200 : blocks.isOpen(block) ? 12 : 3;
      return HEAD + (printed > 0 ? 17 + Math.min(printed, shown) * CODE_ROW : 0);
    }
    case "change":
      return HEAD + 2 + Math.min(Math.max(1, lines - 5), 40) * CODE_ROW + (lines > 45 ? 45 : 0);
    case "plan":
      return HEAD + 14 + Math.max(1, lines) * 26;
    case "question":
      return HEAD + 14 + lines * ROW;
    case "tool":
      return blocks.isFailed(block) ? HEAD + 120 : HEAD;
    case "reasoning":
    case "compaction":
      return HEAD;
    default:
      return 32;
  }
}
