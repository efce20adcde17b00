import { type Db, openDb, type PostgresConnection } from "../packages/server/src/store/db.ts";
import { answerParent } from "./child.ts";

/** A bare NOTIFY from one process to another: nothing is written, nothing is read. */
export interface Notices {
  connection: PostgresConnection;
  does: "say" | "hear";
  /** The numbers from `first` on, so many. */
  first: number;
  count: number;
  everyMs: number;
}

let db: Db | undefined;
const heard = new Map<number, bigint>();
let wake = () => {};

answerParent<Notices>(async ({ connection, does, first, count, everyMs }) => {
  if (!db) {
    db = openDb(connection, { connections: 1, applicationName: "outrider-bench-anchor" });
    const listen = (text: string) => {
      heard.set(Number(text), process.hrtime.bigint());
      wake();
    };
    if (does === "hear") await db.listen("bench_notices", listen);
  }
  const last = first + count - 1;
  if (does === "hear") {
    while (count > 0 && !heard.has(last)) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return heard;
  }
  const said = new Map<number, bigint>();
  for (let number = first; number <= last; number++) {
    said.set(number, process.hrtime.bigint());
    await db.notify("bench_notices", String(number));
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  return said;
});
