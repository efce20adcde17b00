/** The maximum size of an image. Providers reject larger ones. */
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

/** The formats that every vision model accepts. The read_file tool recognizes the same formats by their content. */
const supportedTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export function isSupportedImage(mimeType: string): boolean {
  return supportedTypes.has(mimeType);
}
