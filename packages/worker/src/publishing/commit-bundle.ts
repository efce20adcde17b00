import { PassThrough, type Readable } from "node:stream";
import type { StagedCommits } from "@outrider/contract/worker/publication";
import type { ServerClient } from "../server-client/server-client.ts";
import { uploadStream } from "../workspace/upload.ts";
import type { Changes } from "./list-changes.ts";
import type { Outbox } from "./outbox.ts";
import { PublishingError } from "./publishing-error.ts";
import { stagedRef } from "./staging-script.ts";

const MAX_HEADER_BYTES = 256 * 1024;
const PACK_MS = 5 * 60_000;

/**
 * Uploads commits as a git bundle. It has one ref, and a clone of the remote repository can fetch it. The pack is made
 * from the objects that were checked, so nothing else that a sandbox sent is in it.
 *
 * git's own command for bundles would need the files on which differences are based, and a partial mirror lacks some.
 */
export async function uploadBundle(
  outbox: Outbox,
  { tip, changes }: { tip: string; changes: Changes },
  upload: { server: Pick<ServerClient, "putBlob">; folder: string; signal: AbortSignal },
): Promise<NonNullable<StagedCommits["bundle"]>> {
  const content = new PassThrough();
  content.on("error", () => {}); // the upload reports it
  content.write(bundleHeader(tip, changes.boundary));
  const missing = outbox.isPartial ? "--missing=allow-promisor" : "--missing=error";
  const args = ["-c", "pack.useSparse=false", "-c", "pack.threads=1", "pack-objects", "--quiet", "--revs"];
  const stdin = `${[tip, ...changes.boundary.map((commit) => `^${commit}`)].join("\n")}\n`;
  const packing = outbox
    .run([...args, "--stdout", "--delta-base-offset", missing], {
      stdin,
      timeoutMs: PACK_MS,
      readOutput: async (stdout) => {
        for await (const chunk of stdout as AsyncIterable<Buffer>) {
          if (!content.write(chunk)) await drained(content);
        }
      },
    })
    .then(
      () => content.end(),
      (error) => content.destroy(error),
    );
  const [bundle] = await Promise.all([uploadStream([content], upload), packing]);
  return bundle;
}

function drained(stream: PassThrough): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.once("drain", resolve);
    stream.once("close", () => reject(new Error("The upload ended.")));
  });
}

function bundleHeader(tip: string, boundary: string[]): string {
  const isSha256 = tip.length === 64;
  const lines = [
    isSha256 ? "# v3 git bundle" : "# v2 git bundle",
    ...(isSha256 ? ["@object-format=sha256"] : []),
    ...boundary.map((commit) => `-${commit}`),
    `${tip} ${stagedRef}`,
  ];
  return `${lines.join("\n")}\n\n`;
}

/** A bundle whose header has been read. */
export interface OpenBundle {
  /** Commits of the remote that the bundle's commits are based on. */
  prerequisites: string[];
  pack: Readable;
}

/** Reads the header of a bundle, which must have exactly this tip. */
export async function openBundle(bundle: Readable, tip: string): Promise<OpenBundle> {
  const header = await readUntil(bundle, "\n\n", MAX_HEADER_BYTES);
  const isValid = /^# v[23] git bundle\n/.test(header) && header.endsWith(`\n${tip} ${stagedRef}\n\n`);
  if (!isValid) {
    bundle.destroy();
    throw new PublishingError(
      "invalid_commits",
      "The stored commits are damaged. Publish the changes again.",
    );
  }
  const prerequisites = [...header.matchAll(/^-([0-9a-f]{40,64})$/gm)].map(([, commit]) => commit as string);
  return { prerequisites, pack: bundle };
}

/** Reads a stream up to a marker and returns what it has read, with the marker. The stream then continues after it. */
export async function readUntil(stream: Readable, marker: string, maxBytes: number): Promise<string> {
  const ending = Buffer.from(marker);
  let read = Buffer.alloc(0);
  for (;;) {
    const chunk: Buffer | null = stream.read();
    if (chunk) {
      read = Buffer.concat([read, chunk]);
      const at = read.indexOf(ending);
      if (at >= 0) {
        stream.unshift(read.subarray(at + ending.length));
        return read.toString("latin1", 0, at + ending.length);
      }
      if (read.length > maxBytes) return read.toString("latin1", 0, maxBytes);
    } else if (stream.readableEnded || stream.destroyed) {
      if (stream.errored) throw stream.errored;
      return read.toString("latin1");
    } else await readable(stream);
  }
}

function readable(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      for (const event of events) stream.off(event, settle);
      resolve();
    };
    const events = ["readable", "end", "error", "close"];
    for (const event of events) stream.on(event, settle);
  });
}
