import { limits } from "@outrider/contract/limits";
import { Search } from "lucide-react";
import { useEffect, useState } from "react";
import { TextInput } from "../../ui/form/field.tsx";

export const SEARCH_ID = "search-runs";
const PAUSE_MS = 250;

interface SearchBoxProps {
  value: string | undefined;
  onChange: (q: string | undefined) => void;
}

/** Starts a search when the user stops typing. */
export function SearchBox({ value = "", onChange }: SearchBoxProps) {
  const [typed, setTyped] = useState(value);
  const [sent, setSent] = useState(value);
  // Selecting a view or navigating back also changes the search, and the text must follow.
  if (value !== sent) {
    setSent(value);
    setTyped(value);
  }
  useEffect(() => {
    const query = typed.trim();
    if (query === sent) return;
    const timer = setTimeout(() => {
      setSent(query);
      onChange(query || undefined);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, sent, onChange]);
  return (
    <div className="relative min-w-0 flex-1 sm:max-w-md">
      <Search className="pointer-events-none absolute top-2.5 left-2.5 size-4 text-muted" aria-hidden />
      <TextInput
        id={SEARCH_ID}
        type="search"
        aria-label="Search runs"
        placeholder="Search titles, prompts and skills"
        className="pl-8"
        value={typed}
        maxLength={limits.searchCharacters}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Escape") currentTarget.blur();
        }}
      />
    </div>
  );
}
