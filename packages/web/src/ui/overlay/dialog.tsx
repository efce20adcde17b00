import clsx from "clsx";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "../button.tsx";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  /** Shows the dialog as a panel at the right edge, which suits longer forms. */
  sheet?: boolean;
  /** Keeps the dialog open when the user clicks outside it, so that typed text is not lost. */
  keepOpen?: boolean;
  children: ReactNode;
  /** The buttons, with the primary action last. */
  footer?: ReactNode;
}

/** Shows the browser's modal dialog, which traps the focus, closes on Escape and restores the focus. */
export function Dialog(props: DialogProps) {
  const { open, onClose, title, description, sheet = false, keepOpen = false, children, footer } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    if (!open || !element || element.open) return;
    const opener = openerOf(document.activeElement);
    element.showModal();
    // Otherwise, the browser would focus the first button, which is Close.
    element.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => {
      element.close();
      // React has already removed the dialog, so the browser does not restore the focus itself.
      if (opener?.isConnected && document.activeElement === document.body) opener.focus();
    };
  }, [open]);
  if (!open) return null;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the dialog element handles Escape itself.
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current && !keepOpen) onClose();
      }}
      className={clsx(
        "flex-col border border-line bg-surface p-0 text-ink shadow-pop open:flex",
        sheet
          ? "fixed inset-y-0 right-0 left-auto m-0 h-dvh max-h-none w-full max-w-xl sm:rounded-l-xl"
          : "m-auto max-h-[85dvh] w-[calc(100%-2rem)] max-w-lg rounded-xl",
      )}
    >
      <header className="flex items-start gap-3 px-5 pt-4 pb-3">
        <div className="min-w-0 flex-1">
          <h2 id={id} className="text-base font-semibold">
            {title}
          </h2>
          {description && <p className="mt-1 text-muted">{description}</p>}
        </div>
        <IconButton label="Close" small icon={<X className="size-4" aria-hidden />} onClick={onClose} />
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-5 pt-1 pb-5">{children}</div>
      {footer && <footer className="flex justify-end gap-2 border-t border-line px-5 py-3">{footer}</footer>}
    </dialog>
  );
}

/**
 * Returns the element that receives the focus when the dialog closes. A menu item no longer exists by then, so its
 * menu's button is returned instead.
 */
function openerOf(element: Element | null): HTMLElement | null {
  const button = element?.closest("[role=menu]")?.getAttribute("aria-labelledby");
  return button ? document.getElementById(button) : (element as HTMLElement | null);
}
