/** Whether a value consists of words of letters and digits that are separated by single dashes. */
export function isToken(value) {
  return /^[a-z0-9]+(-[a-z0-9]+)*$/.test(value);
}
