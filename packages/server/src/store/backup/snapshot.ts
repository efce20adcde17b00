import type { Db, Tx } from "../connection/db.ts";
import { blockRetention } from "../retention.ts";

/** Settings for connections that copy data: a fixed text format and no timeouts. */
export const copySettings = {
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
  client_encoding: "UTF8",
  statement_timeout: "0",
  lock_timeout: "0",
  idle_in_transaction_session_timeout: "0",
};

/** One connection blocks retention, and one reads the snapshot. */
export const SNAPSHOT_CONNECTIONS = 2;

/**
 * Runs work in a snapshot of the database. Other transactions can still write, but retention is blocked, so that every
 * file the snapshot refers to remains in place.
 */
export async function inSnapshot<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const outcome = await db.begin(async (guard): Promise<{ result: T } | { error: unknown }> => {
    // Blocks retention before taking the snapshot, so that the snapshot does not refer to files that are being removed.
    await blockRetention(guard);
    let failure: { error: unknown } | undefined;
    const snapshot = db.begin(async (tx) => {
      await tx`set transaction isolation level repeatable read, read only`;
      const [self] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      try {
        return await work(tx);
      } catch (error) {
        failure = { error };
        // During a copy, PostgreSQL does not read statements from this connection, so the only way to end the
        // transaction is to terminate the connection.
        await guard`select pg_terminate_backend(${self?.pid as number})`;
        return new Promise<never>(() => {});
      }
    });
    // The error is returned instead of thrown. Otherwise the outer transaction would treat the loss of the inner
    // connection as the loss of its own.
    return snapshot.then(
      (result) => ({ result: result as T }),
      (error) => failure ?? { error },
    );
  });
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}
