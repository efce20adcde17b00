import type { Db, Tx } from "../db.ts";
import { holdRetention } from "../retention.ts";

/** For connections that write or read a backup: values as text in one form, and no bound on how long it takes. */
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

/** A connection that holds back retention, and the one of the snapshot. */
export const SNAPSHOT_CONNECTIONS = 2;

/**
 * The database as it is at one moment, for as long as the work takes. Others write meanwhile, but nothing is cleaned up:
 * every file that a row of this moment names stays where it is.
 */
export async function inSnapshot<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const outcome = await db.begin(async (guard): Promise<{ result: T } | { error: unknown }> => {
    // Before the snapshot: what was being removed is gone by then, and nobody names it.
    await holdRetention(guard);
    let failure: { error: unknown } | undefined;
    const snapshot = db.begin(async (tx) => {
      await tx`set transaction isolation level repeatable read, read only`;
      const [self] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      try {
        return await work(tx);
      } catch (error) {
        failure = { error };
        // Amid a copy PostgreSQL hears nothing that the connection itself could say. The loss ends the transaction.
        await guard`select pg_terminate_backend(${self?.pid as number})`;
        return new Promise<never>(() => {});
      }
    });
    // As a value: thrown here, the loss of that connection would be taken for the loss of this one.
    return snapshot.then(
      (result) => ({ result: result as T }),
      (error) => failure ?? { error },
    );
  });
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}
