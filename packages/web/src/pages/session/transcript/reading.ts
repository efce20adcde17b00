import type { RunEvent, RunItem } from "@outrider/sdk";
import { createContext, use } from "react";
import type { LogSource } from "../log/source.ts";

export type Of<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

/** The event that a link, a search or a jump leads to. */
export interface Target {
  seq: number;
  /** Where its block begins. */
  first: number;
  /** Links mark what they lead to; jumps only go there. */
  isLinked: boolean;
}

/** What every block of a transcript knows about the reader. */
export interface Reading {
  run: Pick<RunItem, "run_id" | "state">;
  source: LogSource;
  isReadOnly: boolean;
  onAnswer: ((text: string) => Promise<void>) | undefined;
  /** The answer that is being written. */
  draft: { current: string };
  /** Whether long lines go on below, or to the right. */
  wraps: boolean;
  setWraps: (wraps: boolean) => void;
  /** What the reader opened or closed, by the block's first event; else the block decides. */
  opened: ReadonlyMap<number, boolean>;
  setOpen: (seq: number, open: boolean) => void;
  target: Target | undefined;
  /** Of all questions only the last can wait for an answer. */
  lastQuestion: number | undefined;
}

export const ReadingContext = createContext<Reading | undefined>(undefined);

export function useReading(): Reading {
  const reading = use(ReadingContext);
  if (!reading) throw new Error("A block stands in a transcript.");
  return reading;
}

/** What is known of one block without its words. */
export interface BlockFacts {
  first: number;
  last: number;
  isFailed: boolean;
  isOpen: boolean;
  isLost: boolean;
  isSaidBefore: boolean;
}

/** Whether a block is open: as the reader wants it, or as a link needs it, or as it stands by itself. */
export function useOpen({ first }: BlockFacts, byItself: boolean): [boolean, () => void] {
  const { opened, setOpen, target } = useReading();
  const isOpen = opened.get(first) ?? (byItself || target?.first === first);
  return [isOpen, () => setOpen(first, !isOpen)];
}

export function find<Type extends RunEvent["type"]>(events: readonly RunEvent[], type: Type) {
  return events.find((event): event is Of<Type> => event.type === type);
}
