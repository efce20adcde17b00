export function loadReport(db, id, callback) {
  db.query("select title", id, (error, title) => {
    if (error) return callback(error);
    if (title === undefined) return callback(new Error(`Report ${id} not found`));
    db.query("select rows", id, (rowsError, rows) => {
      if (rowsError) return callback(rowsError);
      callback(null, { title, rows: rows.length });
    });
  });
}
