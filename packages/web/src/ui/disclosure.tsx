import clsx from "clsx";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";

interface DisclosureProps {
  summary: ReactNode;
  className?: string;
  children: ReactNode;
}

/** Shows collapsible content that most users do not need. */
export function Disclosure({ summary, className, children }: DisclosureProps) {
  return (
    <details className={clsx("group", className)}>
      <summary className="flex min-h-9 w-fit list-none items-center gap-1 rounded-md pr-2 font-medium text-muted hover:text-ink">
        <ChevronRight className="size-4 shrink-0 transition-transform group-open:rotate-90" aria-hidden />
        <span>{summary}</span>
      </summary>
      <div className="pt-2 pl-5">{children}</div>
    </details>
  );
}
