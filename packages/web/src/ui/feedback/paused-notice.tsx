import { OctagonPause } from "lucide-react";

interface PausedNoticeProps {
  /** A sentence that says what is unavailable. */
  children: string;
  message?: string | undefined;
  id?: string;
}

/** Explains why an action is unavailable and shows the operator's message. */
export function PausedNotice({ children, message, id }: PausedNoticeProps) {
  return (
    <p id={id} className="flex items-start gap-2 rounded-lg bg-warn-soft px-3 py-2">
      <OctagonPause className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
      <span className="min-w-0 break-words">
        {children}
        {message && <q className="ml-1.5">{message}</q>}
      </span>
    </p>
  );
}
