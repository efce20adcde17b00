import assert from "node:assert/strict";
import { test } from "node:test";
import { loadReport } from "./pipeline.js";

function createDb(answers) {
  const db = {
    active: 0,
    most: 0,
    query(sql, _id, callback) {
      db.active += 1;
      db.most = Math.max(db.most, db.active);
      setTimeout(() => {
        db.active -= 1;
        const answer = answers[sql];
        if (answer instanceof Error) callback(answer);
        else callback(null, answer);
      }, 5);
    },
  };
  return db;
}

test("loads a report", async () => {
  const db = createDb({ "select title": "Sales", "select rows": [1, 2] });
  assert.deepEqual(await loadReport(db, 7), { title: "Sales", rows: 2 });
  assert.equal(db.most, 2);
});
test("rejects for a missing report", async () => {
  await assert.rejects(loadReport(createDb({ "select rows": [] }), 7), /Report 7 not found/);
});
test("rejects with the error of the database", async () => {
  await assert.rejects(loadReport(createDb({ "select title": new Error("gone"), "select rows": [] }), 7), /gone/);
  const db = createDb({ "select title": "Sales", "select rows": new Error("rows gone") });
  await assert.rejects(loadReport(db, 7), /rows gone/);
});
