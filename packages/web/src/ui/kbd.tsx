export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** A key as it is written on the reader's keyboard; `mod` is ⌘ on a Mac and Ctrl elsewhere. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded border border-line bg-raised px-1 font-sans text-[11px] text-muted">
      {keyWords(keys)}
    </kbd>
  );
}

export function keyWords(keys: string): string {
  return keys
    .replace("mod+", isMac ? "⌘" : "Ctrl+")
    .replace(/enter/i, "⏎")
    .replace(/\b([a-z])$/, (letter) => letter.toUpperCase());
}
