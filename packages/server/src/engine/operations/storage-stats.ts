import { type BlobStorage, StorageError, type StorageProblem } from "../../blobs/blob-storage.ts";

const operations = ["put", "open", "stat", "delete"] as const;
type Operation = (typeof operations)[number];
const problems: StorageProblem[] = [
  "unreachable",
  "busy",
  "bucket",
  "region",
  "credentials",
  "clock",
  "other",
];

/** Counts what this server does with its storage, for metrics. */
export class StorageStats {
  readonly operations = zeros(operations);
  readonly seconds = zeros(operations);
  readonly failures = zeros(problems);
  /** Called with each failure. */
  onFailure: (error: StorageError) => void = () => {};
}

function zeros<T extends string>(names: readonly T[]): Record<T, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<T, number>;
}

/** Returns the same storage, but counts its operations. */
export function observeStorage(storage: BlobStorage, stats: StorageStats): BlobStorage {
  const observed = async <T>(operation: Operation, work: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    try {
      return await work();
    } catch (error) {
      if (error instanceof StorageError) {
        stats.failures[error.problem] += 1;
        stats.onFailure(error);
      }
      throw error;
    } finally {
      stats.operations[operation] += 1;
      stats.seconds[operation] += (performance.now() - start) / 1_000;
    }
  };
  return {
    ...storage,
    put: (...args) => observed("put", () => storage.put(...args)),
    open: (...args) => observed("open", () => storage.open(...args)),
    stat: (...args) => observed("stat", () => storage.stat(...args)),
    delete: (...args) => observed("delete", () => storage.delete(...args)),
  };
}
