import postgres from "postgres";

/** How many transactions of a pool have a connection, and how many wait for one. */
export interface Transactions {
  open: number;
  waiting: number;
}

const counted = new WeakMap<postgres.Sql, Transactions>();

export function transactionsOf(db: postgres.Sql): Transactions {
  return counted.get(db) ?? { open: 0, waiting: 0 };
}

type Work<T> = (tx: postgres.TransactionSql) => T | Promise<T>;

/**
 * Makes transactions end where their connection ends. The driver (3.4.9) goes on: it writes its own rollback, and what
 * the work still says, to a socket that is gone, which ends the process, or to the connection that takes its place,
 * amid the transaction of somebody else. So once the connection is lost, the work says nothing more and does not come
 * back to the driver, whose promise for the whole transaction is rejected by the loss itself.
 */
export function guardTransactions(db: postgres.Sql): postgres.Sql {
  const begin = db.begin.bind(db) as <T>(work: Work<T>) => Promise<T>;
  const never = new Promise<never>(() => {});
  const count: Transactions = { open: 0, waiting: 0 };
  counted.set(db, count);
  async function guarded<T>(work: Work<T>): Promise<T> {
    let isLost = false;
    let place: keyof Transactions = "waiting";
    count[place]++;
    try {
      return await begin(async (tx) => {
        count[place]--;
        place = "open";
        count[place]++;
        try {
          const result = await work(speakingWhile(tx, () => !isLost));
          return isLost ? await never : result;
        } catch (error) {
          if (isLost || endsConnection(error)) return never;
          throw error;
        }
      });
    } finally {
      isLost = true;
      count[place]--;
    }
  }
  return Object.assign(db, { begin: guarded });
}

/** In the transaction that the caller has, or in one of its own. */
export async function within<T>(
  sql: postgres.Sql | postgres.TransactionSql,
  work: (tx: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  return "begin" in sql ? ((await sql.begin(work)) as T) : work(sql);
}

function speakingWhile(tx: postgres.TransactionSql, mayStill: () => boolean): postgres.TransactionSql {
  return new Proxy(tx, {
    apply(target, self, args) {
      if (mayStill()) return Reflect.apply(target, self, args);
      throw Object.assign(new Error("The transaction's connection is lost."), { code: "CONNECTION_CLOSED" });
    },
  });
}

/** Errors after which the driver always closes the connection: the socket's, its own, and the server's last words. */
function endsConnection(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return /^(FATAL|PANIC)$/.test(error.severity);
  const code = (error as { code?: unknown } | null)?.code;
  return (
    typeof code === "string" &&
    /^(CONNECTION_(CLOSED|DESTROYED|ENDED)|ECONN\w+|EPIPE|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN))$/.test(code)
  );
}
