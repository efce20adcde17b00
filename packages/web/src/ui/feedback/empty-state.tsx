import type { ReactNode } from "react";

interface EmptyStateProps {
  icon: ReactNode;
  title: string;
  /** Explains what will appear here and how to create it. */
  children: ReactNode;
  /** What to do next. An empty page must not be a dead end. */
  action: ReactNode;
}

export function EmptyState({ icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-3 px-4 py-16 text-center">
      <div className="grid size-11 place-items-center rounded-xl bg-accent-soft text-accent-ink">{icon}</div>
      <h2 className="text-base font-semibold">{title}</h2>
      <div className="max-w-full text-muted">{children}</div>
      {action && <div className="mt-2">{action}</div>}
    </div>
  );
}
