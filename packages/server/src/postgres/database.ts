import postgres from "postgres";
import type { PostgresConnection } from "../store/connection/db.ts";

export async function ensureDatabase(connection: PostgresConnection): Promise<void> {
  const sql = postgres({
    ...connection,
    database: "postgres",
    max: 1,
    onnotice: () => {},
    connect_timeout: 30,
  });
  try {
    const found = await sql`select 1 from pg_database where datname = ${connection.database}`;
    if (found.length === 0) await sql`create database ${sql(connection.database)}`;
  } catch (error) {
    if ((error as { code?: string }).code !== "28P01") throw error;
    throw new Error(
      "The password in postgres.password does not match the database in the data folder. Restore the file.",
    );
  } finally {
    await sql.end({ timeout: 5 });
  }
}
