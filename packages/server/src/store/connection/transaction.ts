import postgres from "postgres";

/** The number of a pool's transactions that have a connection, and the number that are waiting for one. */
export interface Transactions {
  open: number;
  waiting: number;
}

const countsByPool = new WeakMap<postgres.Sql, Transactions>();

export function transactionsOf(db: postgres.Sql): Transactions {
  return countsByPool.get(db) ?? { open: 0, waiting: 0 };
}

type Work<T> = (tx: postgres.TransactionSql) => T | Promise<T>;

/**
 * Ends a transaction when its connection is lost. The driver (3.4.9) does not do this. It sends the rollback and the
 * transaction's remaining statements either to the closed socket, which crashes the process, or to the replacement
 * connection in the middle of another transaction. After a connection is lost, this guard therefore makes statements
 * throw and never returns the work's result to the driver. The driver still rejects the promise for the whole
 * transaction because the connection was lost.
 */
export function guardTransactions(db: postgres.Sql): postgres.Sql {
  const begin = db.begin.bind(db) as <T>(work: Work<T>) => Promise<T>;
  const never = new Promise<never>(() => {});
  const count: Transactions = { open: 0, waiting: 0 };
  countsByPool.set(db, count);
  async function guarded<T>(work: Work<T>): Promise<T> {
    let isLost = false;
    let status: keyof Transactions = "waiting";
    count[status]++;
    try {
      return await begin(async (tx) => {
        count[status]--;
        status = "open";
        count[status]++;
        try {
          const result = await work(guardStatements(tx, () => !isLost));
          return isLost ? await never : result;
        } catch (error) {
          if (isLost || endsConnection(error)) return never;
          throw error;
        }
      });
    } finally {
      isLost = true;
      count[status]--;
    }
  }
  return Object.assign(db, { begin: guarded });
}

/** Runs work in the given transaction, or in a new one if `sql` is a pool. */
export async function inTransaction<T>(
  sql: postgres.Sql | postgres.TransactionSql,
  work: (tx: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  return "begin" in sql ? ((await sql.begin(work)) as T) : work(sql);
}

/** Makes statements throw as soon as `isUsable` returns false. */
function guardStatements(tx: postgres.TransactionSql, isUsable: () => boolean): postgres.TransactionSql {
  return new Proxy(tx, {
    apply(target, self, args) {
      if (isUsable()) return Reflect.apply(target, self, args);
      throw Object.assign(new Error("The transaction's connection is lost."), { code: "CONNECTION_CLOSED" });
    },
  });
}

/** Returns whether the driver always closes the connection after this error: a socket, driver or fatal server error. */
function endsConnection(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return /^(FATAL|PANIC)$/.test(error.severity);
  const code = (error as { code?: unknown } | null)?.code;
  return (
    typeof code === "string" &&
    /^(CONNECTION_(CLOSED|DESTROYED|ENDED)|ECONN\w+|EPIPE|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN))$/.test(code)
  );
}
