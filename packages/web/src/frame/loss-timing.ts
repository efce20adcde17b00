/**
 * A loss is noticed within 5 s, also on a page that sends no requests and if the server accepts connections but never
 * responds: a probe follows this long after the last response, and it counts as failed after the timeout.
 */
export const MAX_SILENCE_MS = 1_500;
/** Long enough for a busy server. A response to any other request also answers the probe. */
export const PROBE_TIMEOUT_MS = 3_000;
