import type { Control } from "../../src/sandboxes/limits.ts";
import type { SandboxImage, SandboxProvider } from "../../src/sandboxes/sandbox.ts";

/**
 * What the conformance suite tests: a provider, and the system that its sandboxes have. The suite uses only the
 * interface in sandboxes/sandbox.ts and what this file describes, so that every provider can be tested with the same
 * functions.
 */
export interface Place {
  /** Part of the names of the tests. */
  name: string;
  /** Why it cannot be opened here. Its tests are then skipped. */
  problem?: string | undefined;
  /**
   * What the provider declares that it can do. The suite tests that it does, or that it refuses. A control that is not
   * listed depends on the machine; the suite then relies on what the provider says.
   */
  capabilities: Partial<Record<Control | "images" | "ids", boolean>>;
  system: PlaceSystem;
  /** How long the first command of a sandbox may take to start on a busy machine, beyond a few hundred milliseconds. */
  startMs: number;
  open(): Promise<OpenPlace>;
}

/** The system that commands see. */
export interface PlaceSystem {
  /** Whether it is that of an image. Otherwise it is read-only. */
  isImage: boolean;
  user: string;
  uid: number;
  home: string;
  /** The capabilities of commands, as in /proc/self/status. */
  capabilities: string;
  /**
   * Whether sandboxes have a kernel of their own, as with gVisor. Commands may then do more in it without reaching the
   * host's, and it does not protect the first process of a sandbox from commands of the same user.
   */
  hasOwnKernel: boolean;
  /** Whether commands get a signal when the size of their terminal changes. */
  hasResizeSignal: boolean;
  /** Whether a snapshot skips the holes of sparse files. Otherwise it reads them, which takes long for large ones. */
  findsHoles: boolean;
  /** Whether root of the image can change /dev. */
  hasWritableDevices: boolean;
  /** Whether commands can read /sys. */
  hasSys: boolean;
  /** Whether the workspace is a mount point, so that root of the image cannot replace it. */
  isWorkspaceMounted: boolean;
  /** Whether commands can run as other users of the image, and give files to them. */
  hasOtherUsers: boolean;
  /** Where sandboxes are pods, what commands see of the pod in addition. */
  pod?: PlacePod;
  /** Environment variables that the system adds to those that all commands have. */
  env: Record<string, string>;
}

/** What commands see of a pod. */
export interface PlacePod {
  /** The capabilities of init, which has more than commands. */
  capabilities: string;
  /** Network interfaces in addition to `lo`. Network policies do not allow any connection through them. */
  interfaces: string[];
  /** A pod that exceeds its disk limit is evicted, with all files. Its writes do not fail. */
  isEvicted: true;
  /** Whether commands can kill the process that is the worker's connection, which ends all commands. */
  hasExposedConnection: boolean;
  /** The names of the sockets on which init waits for the worker. */
  sockets: string[];
}

export interface OpenPlace {
  provider: SandboxProvider;
  /** The image of its sandboxes. Undefined if the system is not that of an image or the provider cannot use images. */
  image: SandboxImage | undefined;
  /** Opens another provider with the same storage, as the previous or the next worker has it. */
  openAgain(): Promise<SandboxProvider>;
  /** Returns the command lines that contain the text, of all processes on the machine that runs the sandboxes. */
  processesWith(text: string): Promise<string[]>;
  /** Fails unless nothing is left of the sandboxes, all of which are closed. */
  expectNoLeftovers(): Promise<void>;
  /** Stops the provider and removes its storage. */
  close(): Promise<void>;
}
