import { CopyButton } from "./copy.tsx";

interface SnippetProps {
  /** Names the content in the copy button's label, such as "command". */
  what: string;
  code: string;
}

/** Shows code to paste elsewhere. Long lines wrap on screen but are copied unchanged. */
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
