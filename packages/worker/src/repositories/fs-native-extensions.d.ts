// The library has no types. The server uses this declaration too (postgres/lock.ts).
declare module "fs-native-extensions" {
  /** Locks a file until its descriptor and all inherited ones are closed. Returns false if it is locked. */
  export function tryLock(
    file: number,
    offset?: number,
    length?: number,
    options?: { shared?: boolean },
  ): boolean;
}
