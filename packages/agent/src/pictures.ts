import type { ImageRef } from "./entry.ts";
import { messageOf } from "./failure.ts";
import type { RunFiles } from "./files.ts";
import type { Shown } from "./messages.ts";

/** Providers refuse larger ones. */
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
/** Of one request, before base64 makes a third more of it. */
const MAX_BYTES = 20 * 1024 * 1024;
const MAX_IMAGES = 20;
/** Old images go so many at a time: whenever one goes, the provider's cache of all that follows it is lost. */
const DROPPED_AT_ONCE = 10;

const OLD = "newer ones have taken its place";

/** What every model that can see takes. */
const types = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The images of a conversation, kept in memory while its turn runs. */
export class Pictures {
  private readonly files: RunFiles;
  private readonly seesImages: boolean;
  private loaded = new Map<string, Uint8Array | string>();

  constructor({ files, seesImages }: { files: RunFiles; seesImages: boolean }) {
    this.files = files;
    this.seesImages = seesImages;
  }

  /** What of these, oldest first, the next model call is given. */
  async show(images: readonly ImageRef[]): Promise<Shown> {
    const excess = images.length - MAX_IMAGES;
    const dropped = excess > 0 ? Math.ceil(excess / DROPPED_AT_ONCE) * DROPPED_AT_ONCE : 0;
    const shown = new Map<string, Uint8Array | string>();
    let bytes = 0;
    for (const [index, image] of [...images.entries()].reverse()) {
      const data = index < dropped || bytes >= MAX_BYTES ? OLD : await this.load(image);
      bytes += typeof data === "string" ? 0 : data.byteLength;
      shown.set(image.id, bytes > MAX_BYTES ? OLD : data);
    }
    this.loaded = shown;
    return shown;
  }

  /** An image that cannot be had is the model's to know, and no reason to end the turn. */
  private async load({ id, of, mime_type }: ImageRef): Promise<Uint8Array | string> {
    if (!this.seesImages) return "this model cannot see images";
    if (!types.has(mime_type)) return `${mime_type} cannot be shown`;
    const known = this.loaded.get(id);
    if (known && known !== OLD) return known;
    try {
      const data = await this.files[of](id);
      return data.byteLength > MAX_IMAGE_BYTES ? `it has ${data.byteLength} bytes, more than 5 MiB` : data;
    } catch (error) {
      return `it could not be read: ${messageOf(error)}`;
    }
  }
}
