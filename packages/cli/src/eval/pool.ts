/** Calls `work` for each item, for at most `limit` items at a time. Stops with the first error. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const remaining = [...items];
  let hasFailed = false;
  const next = async () => {
    for (let item = remaining.shift(); item !== undefined && !hasFailed; item = remaining.shift()) {
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const settled = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, next));
  const failed = settled.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}
