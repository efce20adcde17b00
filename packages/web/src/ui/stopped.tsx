import { OctagonPause } from "lucide-react";

interface StoppedProps {
  /** What is not possible, in a sentence. */
  children: string;
  message?: string | undefined;
  id?: string;
}

/** Said before a press that would be refused: what, and in the operator's words why. */
export function Stopped({ children, message, id }: StoppedProps) {
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
