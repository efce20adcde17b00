import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { ImageError } from "../../src/images/image-error.ts";
import { type PulledImage, type PullOptions, pullImage } from "../../src/images/images.ts";
import { LayerStore } from "../../src/images/layer-store.ts";
import { silentLog } from "../../src/log.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { hostileTar, type Member } from "../escape/hostile-tar.ts";

export function makeStore(maxBytes = 2 ** 30): LayerStore {
  const folder = mkdtempSync(join(tmpdir(), "outrider-layers-"));
  onTestFinished(() => removeFolder(folder));
  return new LayerStore({ folder, maxBytes, log: silentLog });
}

/** Lists the layers of a store and its records of images. */
export function listStored({ folder }: LayerStore): string[] {
  const layers = readdirSync(folder).filter((name) => name !== ".locks" && name !== ".images");
  return [...layers, ...readdirSync(join(folder, ".images"))];
}

/** Pulls from a registry that the operator allows. */
export async function pull(reference: string, options: Partial<PullOptions> = {}): Promise<PulledImage> {
  return await pullImage(reference, {
    store: options.store ?? makeStore(),
    exceptions: parseExceptions("127.0.0.1"),
    signal: new AbortController().signal,
    retryMs: 1,
    ...options,
  });
}

/** Returns the error of a pull that must fail. */
export async function pullError(reference: string, options: Partial<PullOptions> = {}): Promise<ImageError> {
  try {
    (await pull(reference, options)).release();
  } catch (error) {
    if (error instanceof ImageError) return error;
    throw error;
  }
  throw new Error(`${reference} was pulled`);
}

export const layer = (...members: Member[]): Buffer => hostileTar(members);

/** An extended header for the next entry. */
export function pax(records: Record<string, string>): Member {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = key.length + value.length + 3;
    const length = rest + String(rest + String(rest).length).length;
    return `${length} ${key}=${value}\n`;
  });
  return { name: "pax", type: "x", text: lines.join("") };
}
