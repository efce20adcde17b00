const LIFETIME_MS = 60_000;

/** Creates a store of sessions, which expire after a minute. */
export function createSessions(now = Date.now) {
  const sessions = new Map();
  let nextId = 1;
  const isExpired = ({ expiresAt }) => expiresAt <= now();

  return {
    open(user) {
      const id = nextId++;
      sessions.set(id, { user, expiresAt: now() + LIFETIME_MS });
      return id;
    },
    find(id) {
      const session = sessions.get(id);
      return session && !isExpired(session) ? session.user : undefined;
    },
    closeExpired() {
      const expired = [...sessions].filter(([, session]) => isExpired(session));
      for (const [id] of expired) sessions.delete(id);
      return expired.length;
    },
  };
}
