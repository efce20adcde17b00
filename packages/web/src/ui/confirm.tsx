import type { ReactNode } from "react";
import { Button, type ButtonLook } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./problem.tsx";

interface ConfirmProps {
  title: string;
  /** What will be gone, and what follows from it. */
  children: ReactNode;
  /** The verb on the button. */
  action: string;
  look?: ButtonLook;
  cancel?: string;
  busy?: boolean;
  error?: unknown;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asked before what cannot be taken back. Where it was refused, the reason stays in sight. */
export function Confirm(props: ConfirmProps) {
  const {
    title,
    children,
    action,
    look = "danger",
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
          <Button look={look} busy={busy ?? false} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {children}
        {error != null && <Problem error={error} />}
      </div>
    </Dialog>
  );
}
