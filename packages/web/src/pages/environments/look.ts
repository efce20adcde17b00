import type { RunEvent } from "@outrider/sdk";
import { useEffect, useRef, useState } from "react";
import { outrider } from "../../api.ts";

/** What a short look at a run shows of it. */
export type Look =
  | { key: string; type: "said"; text: string }
  | { key: string; type: "step"; text: string }
  | { key: string; type: "command"; command: string; text: string; exitCode?: number; durationMs?: number };

const KEPT_CHARACTERS = 50_000;

export function addLook(looks: Look[], { seq, type, data }: RunEvent): void {
  const at = looks.findLastIndex(
    (look) => look.type === "command" && "command_id" in data && look.key === data.command_id,
  );
  const command = looks[at] as Extract<Look, { type: "command" }> | undefined;
  if (type === "message.agent") looks.push({ key: `${seq}`, type: "said", text: data.text });
  else if (type === "environment.step" && data.state !== "finished")
    looks.push({ key: `${seq}`, type: "step", text: `Preparing: ${data.name} ${data.state}` });
  else if (type === "command.started")
    looks.push({ key: data.command_id, type: "command", command: data.command, text: "" });
  else if (command && type === "command.output")
    looks[at] = { ...command, text: (command.text + data.text).slice(-KEPT_CHARACTERS) };
  else if (command && type === "command.finished")
    looks[at] = {
      ...command,
      durationMs: data.duration_ms,
      ...(data.exit_code === undefined ? {} : { exitCode: data.exit_code }),
    };
}

export function useRunLook(runId: string, onEnd: () => void): { looks: readonly Look[]; error: unknown } {
  const [looks, setLooks] = useState<readonly Look[]>([]);
  const [error, setError] = useState<unknown>();
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    const stream = outrider.runs.stream(runId);
    const seen: Look[] = [];
    let isClosed = false;
    void (async () => {
      try {
        for await (const event of stream) {
          if (isClosed) return;
          addLook(seen, event);
          setLooks([...seen]);
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
  return { looks, error };
}
