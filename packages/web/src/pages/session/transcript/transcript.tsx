import type { RunItem } from "@outrider/sdk";
import type { LogView } from "../log/view.ts";

export interface TranscriptProps {
  log: LogView;
  /** Of a shared run less is known; this is enough. */
  run: Pick<RunItem, "run_id" | "state">;
  /** Sends what was written under the agent's question. A rejection keeps it in the box. */
  onAnswer?: (text: string) => Promise<void>;
  readOnly?: boolean;
}

/** The log as a person reads it. It fills its parent, which must have a height, and scrolls within itself. */
export function Transcript({ log }: TranscriptProps) {
  return <div className="h-full min-h-0 overflow-y-auto">{log.count}</div>;
}
