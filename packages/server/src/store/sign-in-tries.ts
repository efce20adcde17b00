import type { Sql } from "./db.ts";

export interface Tries {
  tries: number;
  /** Until the window ends. */
  seconds: number;
}

/** Counts one more, in the window that is open or a new one. Counted before the password is looked at, so that tries at the same moment count too. */
export async function countTry(sql: Sql, subject: Buffer, windowMinutes: number): Promise<Tries> {
  const [row] = await sql<Tries[]>`
    insert into sign_in_tries as t (subject, tries, until)
    values (${subject}, 1, outrider_now() + make_interval(mins => ${windowMinutes}))
    on conflict (subject) do update set
      tries = case when t.until > outrider_now() then t.tries + 1 else 1 end,
      until = case when t.until > outrider_now() then t.until else excluded.until end
    returning tries, ceil(extract(epoch from until - outrider_now()))::int as seconds`;
  return row as Tries;
}

/** One that was no guess. */
export async function uncountTry(sql: Sql, subject: Buffer): Promise<void> {
  await sql`update sign_in_tries set tries = tries - 1 where subject = ${subject} and tries > 0`;
}

export async function forgetTries(sql: Sql, subject: Buffer): Promise<void> {
  await sql`delete from sign_in_tries where subject = ${subject}`;
}

export async function deleteOldTries(sql: Sql): Promise<void> {
  await sql`delete from sign_in_tries where until <= outrider_now()`;
}
