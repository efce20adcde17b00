import { formatCount } from "../format/numbers.ts";

/** Shows the number of added and removed lines, such as +3 −1. */
export function Counts({ additions, deletions }: { additions: number; deletions: number }) {
  return (
    <span className="inline-flex shrink-0 gap-1.5 whitespace-nowrap font-mono text-xs tabular-nums">
      <span className="text-good">+{formatCount(additions)}</span>
      <span className="text-bad">−{formatCount(deletions)}</span>
      <span className="sr-only">lines added and removed</span>
    </span>
  );
}
