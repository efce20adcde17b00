/** Merges `settings` into `defaults`. */
export function merge(defaults, settings) {
  const merged = { ...defaults };
  for (const key of Object.keys(settings)) {
    if (typeof settings[key] === "object" && settings[key] !== null && !Array.isArray(settings[key])) {
      merged[key] = merge(defaults[key] ?? {}, settings[key]);
    } else {
      merged[key] = settings[key];
    }
  }
  return merged;
}
