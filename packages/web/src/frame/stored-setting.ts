/**
 * Stores a user preference in local storage. If storage is disabled, the preference is lost when the page is closed.
 */
export function storedSetting(name: string) {
  const key = `outrider.${name}`;
  let fallback: string | undefined;
  return {
    read(): string | undefined {
      try {
        return localStorage.getItem(key) ?? undefined;
      } catch {
        return fallback;
      }
    },
    write(value: string | undefined) {
      fallback = value;
      try {
        if (value === undefined) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
      } catch {
        // If writing fails, the in-memory fallback is used.
      }
    },
  };
}

/** Deletes unsent texts, so that the next user of this browser does not see them. */
export function deleteDrafts() {
  try {
    const drafts = Object.keys(localStorage).filter((key) => /^outrider\.(composer\.)?draft(\.|$)/.test(key));
    for (const key of drafts) localStorage.removeItem(key);
  } catch {
    // If storage is unavailable, there is nothing to delete.
  }
}
