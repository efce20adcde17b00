/** Merges `settings` into `defaults`. */
export function merge(defaults, settings) {
  for (const key in settings) {
    if (typeof settings[key] === "object" && settings[key] !== null) {
      defaults[key] = merge(defaults[key] ?? {}, settings[key]);
    } else {
      defaults[key] = settings[key];
    }
  }
  return defaults;
}
