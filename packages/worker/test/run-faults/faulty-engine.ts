import type { NetConnectOpts } from "node:net";

/** A container engine or cluster of its own, which the faults can kill. */
export interface FaultyEngine {
  /** Where it accepts connections. Workers reach it through a proxy. */
  target: NetConnectOpts;
  /** The options of a worker for which it is reachable at this port of the loopback. */
  workerOptions(port: number): Promise<string[]>;
  /** Kills it, but not its containers. */
  kill(): Promise<void>;
  /** Starts it after `kill`. */
  start(): Promise<void>;
  /** Stops it until `resume`, so that it accepts connections but does not respond. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Lists what it has of a run's sandboxes. */
  objectsOf(run: string): Promise<string[]>;
  /** What workers log when it does not respond, and when it responds again. */
  messages: { away: string; back: string };
  /** Why a worker does not start without it. */
  missing: RegExp;
  stop(): Promise<void>;
}
