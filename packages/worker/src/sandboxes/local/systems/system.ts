import type { CommandSystem, ProcessKind } from "../../systems/command-system.ts";
import type { UnixAccount } from "../unix-account.ts";

export interface ImageEntry {
  root: string;
  /** Mount points in the hostile files of the root, which are prepared before bubblewrap mounts something there. */
  mountpoints: string[];
  /** The options of nsenter that make the process root of the worker's user namespace, if it has entered one. */
  rootArgs?: string[];
}

/** How to start one of the two processes. */
export interface SystemProcess {
  bwrapArgs: string[];
  /** The files that bubblewrap copies into the sandbox, each opened at position 0. The caller closes them. */
  copied: number[];
  /** How to start bubblewrap in a sandbox with an image. */
  image?: ImageEntry;
}

/** The system that the bubblewrap processes of a sandbox see: that of the worker, or that of an image. */
export interface System extends CommandSystem {
  /** The account under which bubblewrap starts, if the worker is root. */
  readonly account: UnixAccount | undefined;
  /** A user namespace that bubblewrap enters, as an open file. */
  readonly userNamespace: number | undefined;
  /** Whether `onConnected` creates the folders that scripts use. */
  readonly preparesFolders: boolean;
  describeProcess(kind: ProcessKind): SystemProcess;
}
