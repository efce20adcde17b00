export function createCounter(store) {
  return {
    async increment(name) {
      const value = (await store.read(name)) ?? 0;
      await store.write(name, value + 1);
      return value + 1;
    },
  };
}
