import { messageOf } from "../failure.ts";
import type { RunFiles } from "../files.ts";
import { isSupportedImage, MAX_IMAGE_BYTES } from "../supported-images.ts";
import type { ImageRef } from "./entry.ts";
import type { ImageData } from "./messages.ts";

/** The limit for all images in one request, before base64 encoding adds a third. */
const MAX_REQUEST_BYTES = 20 * 1024 * 1024;
const MAX_IMAGES = 20;
/** Old images are dropped in batches, because each drop invalidates the provider's cache of everything after it. */
const DROP_BATCH = 10;

const REPLACED = "newer images replaced it";

/** Loads a conversation's images and caches them for one turn. */
export class ConversationImages {
  readonly #files: RunFiles;
  readonly #supportsImages: boolean;
  #loaded = new Map<string, Uint8Array | string>();

  constructor({ files, supportsImages }: { files: RunFiles; supportsImages: boolean }) {
    this.#files = files;
    this.#supportsImages = supportsImages;
  }

  /** For each of the given images, oldest first, returns its data or the reason why it is not sent to the model. */
  async load(images: readonly ImageRef[]): Promise<ImageData> {
    const excess = images.length - MAX_IMAGES;
    const dropped = excess > 0 ? Math.ceil(excess / DROP_BATCH) * DROP_BATCH : 0;
    const result = new Map<string, Uint8Array | string>();
    let bytes = 0;
    for (const [index, image] of [...images.entries()].reverse()) {
      const data = index < dropped || bytes >= MAX_REQUEST_BYTES ? REPLACED : await this.#loadOne(image);
      bytes += typeof data === "string" ? 0 : data.byteLength;
      result.set(image.id, bytes > MAX_REQUEST_BYTES ? REPLACED : data);
    }
    this.#loaded = result;
    return result;
  }

  /** Loads an image. An unreadable image is reported to the model and does not end the turn. */
  async #loadOne({ id, source, mime_type }: ImageRef): Promise<Uint8Array | string> {
    if (!this.#supportsImages) return "this model cannot see images";
    if (!isSupportedImage(mime_type)) return `${mime_type} is not supported`;
    const cached = this.#loaded.get(id);
    if (cached && cached !== REPLACED) return cached;
    try {
      const files = this.#files;
      const data = await (source === "artifact" ? files.readArtifact(id) : files.readAttachment(id));
      return data.byteLength > MAX_IMAGE_BYTES ? `it has ${data.byteLength} bytes, more than 5 MiB` : data;
    } catch (error) {
      return `it could not be read: ${messageOf(error)}`;
    }
  }
}
