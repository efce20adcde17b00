const LIFETIME_MS = 60_000;
const sessions = {};

/** Creates a store of sessions, which expire after a minute. */
export function createSessions(now = Date.now) {
  let nextId = 1;
  return {
    open(user) {
      const id = nextId++;
      sessions[id] = { user, expiresAt: now() + LIFETIME_MS };
      return id;
    },
    find(id) {
      const session = sessions[id];
      return session && session.expiresAt > now() ? session.user : undefined;
    },
    closeExpired() {
      const expired = Object.keys(sessions).filter((id) => sessions[id].expiresAt <= now());
      for (const id of expired) delete sessions[id];
      return expired.length;
    },
  };
}
