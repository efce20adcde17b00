import type { RunEvent } from "@outrider/sdk";
import { useEffect, useRef, useState } from "react";
import { outrider } from "../../../api.ts";

/** An entry in a test run's live view. */
export type PreviewEntry =
  | { key: string; type: "said"; text: string }
  | { key: string; type: "step"; text: string }
  | { key: string; type: "command"; command: string; text: string; exitCode?: number; durationMs?: number };

const KEPT_CHARACTERS = 50_000;

export function addPreviewEvent(entries: PreviewEntry[], { seq, type, data }: RunEvent): void {
  const at = entries.findLastIndex(
    (entry) => entry.type === "command" && "command_id" in data && entry.key === data.command_id,
  );
  const command = entries[at] as Extract<PreviewEntry, { type: "command" }> | undefined;
  if (type === "message.agent") entries.push({ key: `${seq}`, type: "said", text: data.text });
  else if (type === "environment.step" && data.state !== "finished")
    entries.push({ key: `${seq}`, type: "step", text: `Preparing: ${data.name} (${data.state})` });
  else if (type === "command.started")
    entries.push({ key: data.command_id, type: "command", command: data.command, text: "" });
  else if (command && type === "command.output")
    entries[at] = { ...command, text: (command.text + data.text).slice(-KEPT_CHARACTERS) };
  else if (command && type === "command.finished")
    entries[at] = {
      ...command,
      durationMs: data.duration_ms,
      ...(data.exit_code === undefined ? {} : { exitCode: data.exit_code }),
    };
}

export function useRunPreview(
  runId: string,
  onEnd: () => void,
): { entries: readonly PreviewEntry[]; error: unknown } {
  const [entries, setEntries] = useState<readonly PreviewEntry[]>([]);
  const [error, setError] = useState<unknown>();
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    const stream = outrider.runs.stream(runId);
    const seen: PreviewEntry[] = [];
    let isClosed = false;
    void (async () => {
      try {
        for await (const event of stream) {
          if (isClosed) return;
          addPreviewEvent(seen, event);
          setEntries([...seen]);
        }
        if (!isClosed) end.current();
      } catch (reason) {
        if (!isClosed) setError(reason);
      }
    })();
    return () => {
      isClosed = true;
      stream.close();
    };
  }, [runId]);
  return { entries, error };
}
