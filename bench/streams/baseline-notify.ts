import { type Db, openDb, type PostgresConnection } from "../../packages/server/src/store/connection/db.ts";
import { answerParent } from "../support/child-process.ts";

/** Sends bare NOTIFYs from one process to another as a baseline: no rows are written or read. */
export interface Notifications {
  connection: PostgresConnection;
  action: "send" | "receive";
  /** The notifications are numbered, starting with `first`. */
  first: number;
  count: number;
  intervalMs: number;
}

let db: Db | undefined;
const received = new Map<number, bigint>();
let wake = () => {};

answerParent<Notifications>(async ({ connection, action, first, count, intervalMs }) => {
  if (!db) {
    db = openDb(connection, { connections: 1, applicationName: "outrider-bench-baseline" });
    const listen = (text: string) => {
      received.set(Number(text), process.hrtime.bigint());
      wake();
    };
    if (action === "receive") await db.listen("bench_notifications", listen);
  }
  const last = first + count - 1;
  if (action === "receive") {
    while (count > 0 && !received.has(last)) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return received;
  }
  const sent = new Map<number, bigint>();
  for (let number = first; number <= last; number++) {
    sent.set(number, process.hrtime.bigint());
    await db.notify("bench_notifications", String(number));
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
  return sent;
});
