export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** Shows a key as it appears on the user's keyboard: `mod` is ⌘ on a Mac and Ctrl elsewhere. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded border border-line bg-raised px-1 font-sans text-[11px] text-muted">
      {formatKeys(keys)}
    </kbd>
  );
}

export function formatKeys(keys: string): string {
  return keys
    .replace("mod+", isMac ? "⌘" : "Ctrl+")
    .replace(/enter/i, "⏎")
    .replace(/\b([a-z])$/, (letter) => letter.toUpperCase());
}
