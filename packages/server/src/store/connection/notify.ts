import type { Sql } from "./db.ts";

/**
 * Sends a notification. Notifications may be lost, so their transaction need not wait for a disk flush. The setting
 * applies to this transaction only, because a connection pooler may give the connection to another program afterwards.
 */
export async function notify(sql: Sql, channel: string, payload: string): Promise<void> {
  await sql`select set_config('synchronous_commit', 'off', true), pg_notify(${channel}, ${payload})`;
}
