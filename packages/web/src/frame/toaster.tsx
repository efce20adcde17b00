import clsx from "clsx";
import { CircleAlert, CircleCheck, X } from "lucide-react";
import { useEffect, useState } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { InlineCode } from "../ui/text/inline-code.tsx";
import { dismiss, useToasts } from "./toasts.ts";

const GAP = 12;

/** Shows toasts above the bar at the bottom of the page, such as the message field, so that they never cover its buttons. */
export function Toaster() {
  const toasts = useToasts();
  const bottom = useBottomBar(toasts.length > 0);
  return (
    <div
      role="status"
      aria-live="polite"
      style={bottom === undefined ? undefined : { bottom }}
      className="pointer-events-none fixed inset-x-4 bottom-20 z-60 flex flex-col items-center gap-2 sm:bottom-6 sm:left-auto sm:items-end"
    >
      {toasts.map(({ id, text, tone, action }) => {
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
            <span className="min-w-0 flex-1 break-words">
              <InlineCode text={text} />
            </span>
            {action && (
              <Button
                small
                onClick={() => {
                  dismiss(id);
                  action.run();
                }}
              >
                {action.label}
              </Button>
            )}
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

/** Returns the distance of toasts from the bottom edge while a bar marked with `data-bottom-bar` is shown. */
function useBottomBar(isActive: boolean): number | undefined {
  const [distance, setDistance] = useState<number>();
  useEffect(() => {
    if (!isActive) return;
    const measure = () => {
      const tops = [...document.querySelectorAll("[data-bottom-bar]")].map(
        (bar) => bar.getBoundingClientRect().top,
      );
      setDistance(tops.length > 0 ? innerHeight - Math.min(...tops) + GAP : undefined);
    };
    measure();
    // The bar grows with its content, and the page can change while a toast is shown.
    const timer = setInterval(measure, 200);
    return () => clearInterval(timer);
  }, [isActive]);
  return distance;
}
