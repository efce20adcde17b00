export function createCounter(store) {
  /** The last increment of each name. */
  const last = new Map();

  async function increment(name) {
    const value = (await store.read(name)) ?? 0;
    await store.write(name, value + 1);
    return value + 1;
  }

  return {
    increment(name) {
      const next = (last.get(name) ?? Promise.resolve()).then(() => increment(name));
      const settled = next.catch(() => {});
      last.set(name, settled);
      settled.then(() => last.get(name) === settled && last.delete(name));
      return next;
    },
  };
}
