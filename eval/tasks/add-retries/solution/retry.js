/** Calls `work` until it succeeds, with increasing delays in between. */
export async function retry(work, { attempts, delayMs, maxDelayMs, sleep, shouldRetry }) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= attempts || !shouldRetry(error)) throw error;
      await sleep(Math.min(delayMs * 2 ** (attempt - 1), maxDelayMs));
    }
  }
}
