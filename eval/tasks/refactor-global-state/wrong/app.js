import { createSessions } from "./sessions.js";

const sessions = createSessions();

export function signIn(user) {
  return { session: sessions.open(user) };
}

export function whoAmI(session) {
  return sessions.find(session) ?? "anonymous";
}
