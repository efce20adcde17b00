import type { Build, BuildEvent } from "@outrider/sdk";
import { useEffect, useRef, useState } from "react";
import { outrider } from "../../../api.ts";

export interface Step {
  seq: number;
  name: string;
  state: "running" | "finished" | "failed";
  startedAt: string;
  exitCode?: number;
  durationMs?: number;
  /** What the step downloaded or stored. */
  sizeBytes?: number;
  text: string;
  /** Whether the beginning of a long output was dropped. */
  isCut: boolean;
}

export interface Notice {
  seq: number;
  message: string;
}

export type Entry = ({ type: "step" } & Step) | ({ type: "notice" } & Notice);

const KEPT_CHARACTERS = 100_000;

/**
 * Applies an event to the log. A changed entry is replaced with a new object, so that React re-renders only that entry.
 */
export function addEvent(entries: Entry[], event: BuildEvent): void {
  const { seq, created_at } = event;
  const at = entries.findLastIndex(({ type }) => type === "step");
  const last = entries[at] as Extract<Entry, { type: "step" }> | undefined;
  if (event.type === "notice") {
    entries.push({ type: "notice", seq, message: event.data.message });
    return;
  }
  if (event.type === "step") {
    const { name, state, exit_code, duration_ms, size_bytes } = event.data;
    if (state === "started" || !last) {
      entries.push({
        type: "step",
        seq,
        name,
        state: "running",
        startedAt: created_at,
        text: "",
        isCut: false,
      });
      return;
    }
    entries[at] = {
      ...last,
      state,
      durationMs: duration_ms ?? Date.parse(created_at) - Date.parse(last.startedAt),
      ...(exit_code === undefined ? {} : { exitCode: exit_code }),
      ...(size_bytes === undefined ? {} : { sizeBytes: size_bytes }),
    };
    return;
  }
  if (!last) return;
  const text = last.text + event.data.text;
  const isCut = last.isCut || text.length > KEPT_CHARACTERS;
  entries[at] = { ...last, text: text.slice(-KEPT_CHARACTERS), isCut };
}

interface BuildLog {
  entries: readonly Entry[];
  error: unknown;
  isOver: boolean;
}

/** Streams a build's log. Renders at most once per frame, however fast a command prints. */
export function useBuildLog({ environment_id, build_id }: Build, onEnd: () => void): BuildLog {
  const [log, setLog] = useState<BuildLog>({ entries: [], error: undefined, isOver: false });
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    const entries: Entry[] = [];
    let frame: number | undefined;
    const show = (rest: Partial<BuildLog> = {}) => {
      if (frame !== undefined) cancelAnimationFrame(frame);
      frame = undefined;
      setLog({ entries: [...entries], error: undefined, isOver: false, ...rest });
    };
    const stream = outrider.builds.stream(environment_id, build_id);
    let isClosed = false;
    void (async () => {
      try {
        for await (const event of stream) {
          if (isClosed) return;
          addEvent(entries, event);
          frame ??= requestAnimationFrame(() => show());
        }
        if (isClosed) return;
        show({ isOver: true });
        end.current();
      } catch (error) {
        if (!isClosed) show({ error });
      }
    })();
    return () => {
      isClosed = true;
      stream.close();
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
  }, [environment_id, build_id]);
  return log;
}
