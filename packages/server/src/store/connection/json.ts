import type postgres from "postgres";
import type { Sql } from "./db.ts";

/**
 * Returns a JSON parameter, or null for an absent value. The driver's own type accepts no interfaces and no optional
 * fields, although both can be serialized.
 */
export function json(sql: Sql, value: object | null | undefined): postgres.Parameter | null {
  return value ? sql.json(value as postgres.JSONValue) : null;
}
