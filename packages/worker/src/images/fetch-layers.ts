import { setMaxListeners } from "node:events";
import { Budget } from "./budget.ts";
import { downloadBlob } from "./download.ts";
import type { LayerRef, LayerStore } from "./layer-store.ts";
import type { ImageLimits } from "./limits.ts";
import type { Descriptor } from "./manifest.ts";
import type { Registry } from "./registry.ts";
import { unpackLayer } from "./unpack-layer.ts";

/** The state of one layer. `bytes` of `totalBytes`, compressed, have been downloaded. */
export interface PullProgress {
  /** The position from the bottom, starting with 0. */
  layer: number;
  layers: number;
  digest: string;
  phase: "cached" | "downloading" | "unpacking" | "done";
  bytes: number;
  totalBytes: number;
}

export interface FetchLayersOptions {
  registry: Registry;
  store: LayerStore;
  /** The compressed layers from bottom to top. */
  blobs: Descriptor[];
  /** The digests of the same layers, uncompressed. */
  diffIds: string[];
  limits: ImageLimits;
  signal: AbortSignal;
  onProgress?: (progress: PullProgress) => void;
  retryMs?: number;
}

/** This many layers are downloaded and unpacked at the same time. */
const CONCURRENCY = 3;
const PROGRESS_BYTES = 2 ** 20;

/** Returns the layers from bottom to top, in use. If one of them fails, the others are aborted and released. */
export async function fetchLayers(options: FetchLayersOptions): Promise<LayerRef[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  setMaxListeners(0, signal);
  const budget = new Budget(options.limits);
  const layers: LayerRef[] = [];
  // If a layer occurs twice, the lower one shows nothing that the upper one does not show too. An overlay cannot have the
  // same folder twice.
  const indexes = options.diffIds.flatMap((diffId, index) =>
    options.diffIds.lastIndexOf(diffId) === index ? [index] : [],
  );
  const queue = indexes.values();
  const fetchNext = async () => {
    for (const index of queue) {
      try {
        layers[index] = await fetchLayer({ ...options, index, budget, signal });
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: CONCURRENCY }, fetchNext));
  const present = layers.filter((layer) => layer !== undefined);
  if (results.every(({ status }) => status === "fulfilled")) {
    await options.store.evict();
    return present;
  }
  for (const layer of present) layer.release();
  options.signal.throwIfAborted();
  throw failed.signal.reason;
}

async function fetchLayer({
  registry,
  store,
  blobs,
  diffIds,
  index,
  budget,
  signal,
  onProgress,
  retryMs,
}: FetchLayersOptions & { index: number; budget: Budget }): Promise<LayerRef> {
  const blob = blobs[index] as Descriptor;
  const diffId = diffIds[index] as string;
  const report = (phase: PullProgress["phase"], bytes: number) =>
    onProgress?.({
      layer: index,
      layers: blobs.length,
      digest: blob.digest,
      phase,
      bytes,
      totalBytes: blob.size,
    });
  let isNew = false;
  let reported = 0;
  const layer = await store.ensure(
    diffId,
    async (paths) => {
      isNew = true;
      report("downloading", 0);
      await downloadBlob({
        registry,
        blob,
        path: paths.blob,
        signal,
        ...(retryMs === undefined ? {} : { retryMs }),
        onProgress: (bytes) => {
          if (bytes < reported + PROGRESS_BYTES && bytes >= reported && bytes !== blob.size) return;
          reported = bytes;
          report("downloading", bytes);
        },
      });
      report("unpacking", blob.size);
      return await unpackLayer({ blob: paths.blob, folder: paths.folder, diffId, budget, signal });
    },
    signal,
  );
  try {
    if (!isNew) {
      budget.addBytes(layer.archiveBytes);
      budget.addEntry(layer.entries);
    }
    report(isNew ? "done" : "cached", blob.size);
    return layer;
  } catch (error) {
    layer.release();
    throw error;
  }
}
