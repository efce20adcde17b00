const LIFETIME_MS = 60_000;
let sessions = {};
let nextId = 1;

export function open(user) {
  const id = nextId++;
  sessions[id] = { user, expiresAt: Date.now() + LIFETIME_MS };
  return id;
}

export function find(id) {
  const session = sessions[id];
  return session && session.expiresAt > Date.now() ? session.user : undefined;
}

export function closeExpired() {
  const before = Object.keys(sessions).length;
  sessions = Object.fromEntries(Object.entries(sessions).filter(([, { expiresAt }]) => expiresAt > Date.now()));
  return before - Object.keys(sessions).length;
}
