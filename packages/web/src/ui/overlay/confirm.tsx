import type { ReactNode } from "react";
import { Button, type ButtonVariant } from "../button.tsx";
import { ErrorAlert } from "../feedback/error-alert.tsx";
import { Dialog } from "./dialog.tsx";

interface ConfirmProps {
  title: string;
  /** Describes what the action removes or changes. */
  children: ReactNode;
  /** The confirm button's label. */
  action: string;
  variant?: ButtonVariant;
  cancel?: string;
  busy?: boolean;
  error?: unknown;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks for confirmation. If the action fails, the dialog remains open and shows the error. */
export function Confirm(props: ConfirmProps) {
  const {
    title,
    children,
    action,
    variant = "danger",
    cancel = "Cancel",
    busy,
    error,
    onConfirm,
    onClose,
  } = props;
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>{cancel}</Button>
          <Button variant={variant} busy={busy ?? false} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {children}
        {error != null && <ErrorAlert error={error} />}
      </div>
    </Dialog>
  );
}
