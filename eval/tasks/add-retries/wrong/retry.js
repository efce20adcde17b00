/** Calls `work` until it succeeds, with increasing delays in between. */
export async function retry(work, { attempts, delayMs, maxDelayMs, sleep, shouldRetry }) {
  let last;
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      return await work();
    } catch (error) {
      last = error;
      if (!shouldRetry(error)) break;
      await sleep(Math.min(delayMs * 2 ** attempt, maxDelayMs));
    }
  }
  throw last;
}
