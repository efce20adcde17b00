export function createCounter(store) {
  let queue = Promise.resolve();
  return {
    increment(name) {
      queue = queue.then(async () => {
        const value = (await store.read(name)) ?? 0;
        await store.write(name, value + 1);
        return value + 1;
      });
      return queue;
    },
  };
}
