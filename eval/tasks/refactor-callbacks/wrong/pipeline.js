import { promisify } from "node:util";

export async function loadReport(db, id) {
  const query = promisify(db.query).bind(db);
  const title = await query("select title", id);
  if (title === undefined) throw new Error(`Report ${id} not found`);
  const rows = await query("select rows", id);
  return { title, rows: rows.length };
}
