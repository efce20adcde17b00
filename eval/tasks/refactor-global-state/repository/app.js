import { find, open } from "./sessions.js";

export function signIn(user) {
  return { session: open(user) };
}

export function whoAmI(session) {
  return find(session) ?? "anonymous";
}
