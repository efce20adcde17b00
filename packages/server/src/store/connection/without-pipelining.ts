import type postgres from "postgres";

/** The part of the driver's queries (3.4.9) that the types do not describe. */
interface Query {
  options?: { onexecute?: () => boolean };
}

/**
 * Makes each connection of a pool wait for the end of a statement before it sends the next one. Otherwise the driver
 * may already send the first half of the next statement, for which it needs the types of the parameters. A pooler in
 * transaction mode gives its connection to PostgreSQL away at the end of the first statement, and never answers the
 * second one. Within a transaction, statements are still pipelined, because the pooler keeps its connection.
 */
export function withoutPipelining(db: postgres.Sql): postgres.Sql {
  const alone = <T>(query: T): T => {
    const { options } = query as Query;
    // The driver sends further statements only if this function returns true. Its own transactions define another one.
    if (options) options.onexecute ??= () => false;
    return query;
  };
  const { unsafe } = db;
  Object.assign(db, { unsafe: (...args: Parameters<typeof unsafe>) => alone(unsafe(...args)) });
  return new Proxy(db, {
    apply: (target, self, args) => alone(Reflect.apply(target, self, args)),
  });
}
