import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";

/** How many ids a sandbox with an image has. */
export const idCount = 0x1_0000;
/** The first of the ids that image files have on disk, and that sandboxes share if they cannot have ids of their own. */
export const storeUid = 0x6000_0000;
/** systemd reserves the ids up to 0x6fff_ffff for containers. */
const rangeCount = 0xfff;
const attempts = 100;

export interface UidRange {
  /** The id on the host that is root in the sandbox. */
  uid: number;
  release(): Promise<void>;
}

/**
 * Takes a range of ids that no other sandbox on this host uses, not even one of another worker. The range is reserved by a
 * listening socket in the abstract namespace, which the kernel removes when the worker exits for any reason.
 */
export async function takeUidRange(): Promise<UidRange> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const index = randomInt(1, rangeCount + 1);
    const server = await listen(`\0outrider-uid-range-${index}`);
    if (!server) continue;
    server.unref();
    const release = () => new Promise<void>((resolve) => server.close(() => resolve()));
    return { uid: storeUid + index * idCount, release };
  }
  throw new Error("All ranges of user ids for sandboxes with an image are in use on this host.");
}

/** Returns undefined if the name is in use. */
function listen(path: string): Promise<Server | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Server | undefined>();
  const server = createServer((socket) => socket.destroy());
  server.once("error", (error: NodeJS.ErrnoException) =>
    error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
  );
  server.listen({ path }, () => resolve(server));
  return promise;
}
