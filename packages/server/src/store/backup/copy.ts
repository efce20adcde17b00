import type { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { Tx } from "../connection/db.ts";
import type { Table } from "./tables.ts";

/*
 * Copies tables in PostgreSQL's text format, which every major version can read. It has one line per row, with newlines
 * in values escaped.
 */

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export async function* copyOut(tx: Tx, { name, columns }: Table): AsyncGenerator<Buffer> {
  // Copies a query, because partitioned tables cannot be copied directly.
  const statement = `copy (select ${columns.map(quote).join(", ")} from ${quote(name)}) to stdout`;
  const rows: Readable = await tx.unsafe(statement).readable();
  // On an error, the caller terminates the connection (see inSnapshot), so the stream's own error is redundant.
  rows.on("error", () => {});
  try {
    yield* rows.iterator({ destroyOnReturn: false });
  } finally {
    // The remaining data must be read; otherwise the end of the connection is never detected.
    rows.resume();
    // The driver (3.4.9) pauses the connection while the reader is slow. If the last row arrives during a pause, the
    // driver never resumes the connection, and the next statement would hang.
    rows._read(0);
  }
}

export async function copyIn(
  tx: Tx,
  { name, columns }: Table,
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const target: Writable = await tx
    .unsafe(`copy ${quote(name)} (${columns.map(quote).join(", ")}) from stdin`)
    .writable();
  let failure: Error | undefined;
  let unblock = () => {};
  const failed = new Promise<never>((_, reject) => {
    target.once("error", (error) => {
      failure = error;
      unblock();
      reject(error);
    });
  });
  failed.catch(() => {});
  try {
    for await (const chunk of content) {
      // Promise.race with `failed` would leak memory, because it would add a reaction to `failed` for each of millions
      // of chunks.
      await new Promise<void>((resolve) => {
        unblock = resolve;
        target.write(chunk, () => resolve());
      });
      if (failure) throw failure;
    }
  } catch (error) {
    // PostgreSQL accepts the rollback only after the copy has ended.
    target.destroy(error as Error);
    throw error;
  }
  target.end();
  await setImmediate();
  // The driver (3.4.9) does not report rows that PostgreSQL rejects after all data was sent. Instead, the next
  // statement fails.
  await Promise.race([failed, tx`select 1`]).catch((error: Error & { code?: string }) => {
    throw error.code === "25P02" ? new Error(`PostgreSQL rejected the rows of ${name}.`) : error;
  });
}

/** Counts the rows that end in a chunk. */
export function countRowsIn(chunk: Buffer): number {
  let rows = 0;
  for (let index = chunk.indexOf(10); index >= 0; index = chunk.indexOf(10, index + 1)) rows += 1;
  return rows;
}
