import { promisify } from "node:util";

export async function loadReport(db, id) {
  const query = promisify(db.query).bind(db);
  const [title, rows] = await Promise.all([query("select title", id), query("select rows", id)]);
  if (title === undefined) throw new Error(`Report ${id} not found`);
  return { title, rows: rows.length };
}
