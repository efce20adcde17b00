import type { CheckedOutRepository } from "@outrider/contract/run";
import type { Snapshot } from "@outrider/contract/worker";
import type { Notice } from "../egress/egress-session.ts";
import type { Redactor } from "../redaction/redact.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { streamDiff } from "./diff.ts";
import { uploadStream } from "./upload.ts";

interface StoreFilesOptions {
  server: Pick<ServerClient, "putBlob">;
  /** The folder for files that are waiting to be uploaded. */
  folder: string;
  repositories: CheckedOutRepository[];
  redactor: Redactor;
  emitNotice(notice: Notice): void;
  signal: AbortSignal;
}

/** Stores a snapshot of a sandbox and the run's diff on the server, both at once. */
export async function storeFiles(
  sandbox: Sandbox,
  { repositories, redactor, emitNotice, ...options }: StoreFilesOptions,
): Promise<Omit<Snapshot, "seq">> {
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const upload = { ...options, signal };
  const storeSnapshot = async () => {
    try {
      return await uploadStream([sandbox.snapshot()], upload);
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };
  const storeDiff = async () => {
    try {
      return await uploadStream([streamDiff(sandbox, { repositories, redactor, signal })], upload);
    } catch (error) {
      // A snapshot is still useful if git is broken in the workspace.
      signal.throwIfAborted();
      const message = `Cannot create the run's diff: ${(error as Error).message}`;
      emitNotice({ code: "no_diff", message });
      return undefined;
    }
  };
  // The diff starts first, because it takes longer if few files have changed.
  const [diff, snapshot] = await Promise.allSettled([storeDiff(), storeSnapshot()]);
  if (snapshot.status === "rejected") throw snapshot.reason;
  if (diff.status === "rejected") throw diff.reason;
  return { sha256: snapshot.value.sha256, ...(diff.value ? { diff: diff.value } : {}) };
}
