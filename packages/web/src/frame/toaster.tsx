import clsx from "clsx";
import { CircleAlert, CircleCheck, X } from "lucide-react";
import { IconButton } from "../ui/button.tsx";
import { dismiss, useToasts } from "./toasts.ts";

export function Toaster() {
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-20 z-60 flex flex-col items-center gap-2 sm:bottom-6 sm:left-auto sm:items-end"
    >
      {useToasts().map(({ id, text, tone }) => {
        const Icon = tone === "good" ? CircleCheck : CircleAlert;
        return (
          <div
            key={id}
            className="pointer-events-auto flex w-full max-w-sm items-center gap-2 rounded-lg border border-line bg-surface py-2 pr-2 pl-3 shadow-pop"
          >
            <Icon
              className={clsx("size-4 shrink-0", tone === "good" ? "text-good" : "text-bad")}
              aria-hidden
            />
            <span className="min-w-0 flex-1 break-words">{text}</span>
            <IconButton
              label="Dismiss"
              small
              icon={<X className="size-4" aria-hidden />}
              onClick={() => dismiss(id)}
            />
          </div>
        );
      })}
    </div>
  );
}
