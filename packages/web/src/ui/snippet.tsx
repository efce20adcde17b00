import { CopyButton } from "./copy.tsx";

interface SnippetProps {
  /** What it is, for the copy button's name: "command". */
  what: string;
  code: string;
}

/** Something to paste elsewhere: it wraps, so that all of it can be seen, and is copied as it was written. */
export function Snippet({ what, code }: SnippetProps) {
  return (
    <div className="flex items-start gap-2 rounded-md border border-line bg-code py-1.5 pr-1.5 pl-3">
      <pre className="min-w-0 flex-1 py-1 font-mono text-xs leading-5 whitespace-pre-wrap break-words">
        {code}
      </pre>
      <CopyButton text={code} what={what} />
    </div>
  );
}
