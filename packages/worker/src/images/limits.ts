/** Bounds on one image. Everything that a registry sends is checked against them before it is stored. */
export interface ImageLimits {
  /** The largest manifest and the largest configuration. */
  maxManifestBytes: number;
  maxLayers: number;
  /** All layers together, compressed. */
  maxDownloadBytes: number;
  /** All layers together, as uncompressed tar archives. */
  maxUnpackedBytes: number;
  /** Files, folders and links in all layers together. */
  maxEntries: number;
}

export const defaultImageLimits: ImageLimits = {
  maxManifestBytes: 4 * 2 ** 20,
  // Docker's own limit. The paths of this many layers fit in the options of one overlay mount.
  maxLayers: 127,
  maxDownloadBytes: 10 * 2 ** 30,
  maxUnpackedBytes: 30 * 2 ** 30,
  maxEntries: 1_000_000,
};
