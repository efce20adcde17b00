import type { Sql } from "../connection/db.ts";

export interface Attempts {
  attempts: number;
  /** Seconds until the window ends. */
  seconds: number;
}

/** Counts an attempt. Call this before checking the password, so that concurrent attempts are counted too. */
export async function countAttempt(sql: Sql, subject: Buffer, windowMinutes: number): Promise<Attempts> {
  const [row] = await sql<Attempts[]>`
    insert into sign_in_attempts as t (subject, attempts, until)
    values (${subject}, 1, outrider_now() + make_interval(mins => ${windowMinutes}))
    on conflict (subject) do update set
      attempts = case when t.until > outrider_now() then t.attempts + 1 else 1 end,
      until = case when t.until > outrider_now() then t.until else excluded.until end
    returning attempts, ceil(extract(epoch from until - outrider_now()))::int as seconds`;
  return row as Attempts;
}

/** Removes a successful attempt from the count. */
export async function uncountAttempt(sql: Sql, subject: Buffer): Promise<void> {
  await sql`update sign_in_attempts set attempts = attempts - 1 where subject = ${subject} and attempts > 0`;
}

export async function clearAttempts(sql: Sql, subject: Buffer): Promise<void> {
  await sql`delete from sign_in_attempts where subject = ${subject}`;
}

export async function deleteOldAttempts(sql: Sql): Promise<void> {
  await sql`delete from sign_in_attempts where until <= outrider_now()`;
}
