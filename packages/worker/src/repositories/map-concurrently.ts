const MAX_CONCURRENT = 4;

/**
 * Calls a function for all items, a few at a time, and returns the results in order. After an error, it starts no more
 * calls, and rejects when the others have ended.
 */
export async function mapConcurrently<T, R>(items: T[], call: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const errors: unknown[] = [];
  const queue = items.entries();
  const work = async () => {
    for (const [index, item] of queue) {
      if (errors.length > 0) return;
      results[index] = await call(item);
    }
  };
  const workers = Array.from({ length: MAX_CONCURRENT }, () => work().catch((error) => errors.push(error)));
  await Promise.all(workers);
  if (errors.length > 0) throw errors[0];
  return results;
}
