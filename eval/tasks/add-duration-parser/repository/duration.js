export function parseDuration(_text) {
  throw new Error("not implemented");
}
