import type { RunEvent, RunItem } from "@outrider/sdk";
import { createContext, use } from "react";
import type { LogSource } from "../log/log-source.ts";

export type EventOf<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

/** The event that a link, search or jump points to. */
export interface Target {
  seq: number;
  /** The sequence number of the first event in the target's block. */
  first: number;
  /** Whether a link points to the target. Links highlight their target; jumps only scroll to it. */
  isLinked: boolean;
  /** The match that a search points to, within the event. */
  match?: { needle: string; nth: number };
}

/** The state shared by all blocks in a transcript. */
export interface TranscriptState {
  run: Pick<RunItem, "run_id" | "state">;
  source: LogSource;
  isReadOnly: boolean;
  /** Whether long lines wrap. */
  wraps: boolean;
  setWraps: (wraps: boolean) => void;
  /** Blocks that the user opened or closed, by first event. All other blocks use their default. */
  opened: ReadonlyMap<number, boolean>;
  setOpen: (seq: number, open: boolean) => void;
  /** Whether the user expanded or collapsed all blocks. */
  areAllOpen: boolean | undefined;
  /** The times at which the turns started, in order. */
  turnStarts: readonly number[];
  target: Target | undefined;
  /** The last question, which is the only one that can be answered. */
  lastQuestion: number | undefined;
}

export const TranscriptContext = createContext<TranscriptState | undefined>(undefined);

export function useTranscript(): TranscriptState {
  const reading = use(TranscriptContext);
  if (!reading) throw new Error("useTranscript must be used inside a transcript.");
  return reading;
}

/** The information about a block that is available without its events. */
export interface BlockInfo {
  first: number;
  last: number;
  isFailed: boolean;
  isOpen: boolean;
  isInterrupted: boolean;
  repeatsLastMessage: boolean;
}

/**
 * Returns whether a block is open, and a function that toggles it. The user's choice takes precedence, for this block or
 * for all blocks. Otherwise, a block is open by default or if a link points to it.
 */
export function useOpen({ first }: BlockInfo, byItself: boolean): [boolean, () => void] {
  const { opened, areAllOpen, setOpen, target } = useTranscript();
  const isOpen = opened.get(first) ?? (target?.first === first || (areAllOpen ?? byItself));
  return [isOpen, () => setOpen(first, !isOpen)];
}

/** Returns the match to show in this event, if the search points to one. */
export function useMatch(seq: number | undefined) {
  const { target } = useTranscript();
  return target && target.seq === seq ? target.match : undefined;
}

export function find<Type extends RunEvent["type"]>(events: readonly RunEvent[], type: Type) {
  return events.find((event): event is EventOf<Type> => event.type === type);
}
