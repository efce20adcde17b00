import type { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { Tx } from "../db.ts";
import type { Table } from "./catalogue.ts";

/** PostgreSQL's text format, which every major reads: one line for each row, newlines in values escaped. */

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export async function* copyOut(tx: Tx, { name, columns }: Table): AsyncGenerator<Buffer> {
  // As a query, because partitioned tables can be copied in no other way.
  const statement = `copy (select ${columns.map(quote).join(", ")} from ${quote(name)}) to stdout`;
  const rows: Readable = await tx.unsafe(statement).readable();
  // Who breaks off ends the connection (see inSnapshot), which is not told to us once more.
  rows.on("error", () => {});
  try {
    yield* rows.iterator({ destroyOnReturn: false });
  } finally {
    // What is still on its way must be read, or the end of the connection behind it is never seen.
    rows.resume();
    // The driver (3.4.9) stops reading from the connection while its reader is behind, and where the rows end meanwhile, it
    // never goes on: nobody asks for more of what has ended. The next statement would wait for good.
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
  let goOn = () => {};
  const failed = new Promise<never>((_, reject) => {
    target.once("error", (error) => {
      failure = error;
      goOn();
      reject(error);
    });
  });
  failed.catch(() => {});
  try {
    for await (const chunk of content) {
      // Not a race with what failed: it would remember each of millions of these to the end.
      await new Promise<void>((resolve) => {
        goOn = resolve;
        target.write(chunk, () => resolve());
      });
      if (failure) throw failure;
    }
  } catch (error) {
    // Told that no more comes, PostgreSQL takes statements again, which the end of the transaction needs.
    target.destroy(error as Error);
    throw error;
  }
  target.end();
  await setImmediate();
  // The driver (3.4.9) does not tell of rows that are refused once all are sent. The next statement does.
  await Promise.race([failed, tx`select 1`]).catch((error: Error & { code?: string }) => {
    throw error.code === "25P02" ? new Error(`PostgreSQL refused the rows of ${name}.`) : error;
  });
}

/** How many rows a piece of a table's text ends. */
export function rowsIn(chunk: Buffer): number {
  let rows = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) rows += 1;
  return rows;
}
