import clsx from "clsx";
import { LoaderCircle } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";

export type ButtonLook = "primary" | "plain" | "quiet" | "danger";

const looks: Record<ButtonLook, string> = {
  primary: "bg-accent text-on-accent hover:bg-accent-hover",
  plain: "border border-line bg-surface hover:bg-raised",
  quiet: "text-muted hover:bg-raised hover:text-ink",
  danger: "border border-line bg-surface text-bad hover:bg-bad-soft",
};

/** How everything that is pressed looks; links that act like buttons use it too. */
export function buttonClass(look: ButtonLook = "plain", { small = false, square = false } = {}): string {
  return clsx(
    "inline-flex shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-md font-medium transition-colors",
    "disabled:opacity-50 disabled:pointer-events-none aria-disabled:opacity-50",
    small ? "h-7 text-xs" : "h-9 text-sm",
    square ? (small ? "w-7" : "w-9") : small ? "px-2" : "px-3",
    looks[look],
  );
}

interface ButtonProps extends ComponentProps<"button"> {
  look?: ButtonLook;
  small?: boolean;
  icon?: ReactNode;
  /** Work is under way: it cannot be pressed again, and says so. */
  busy?: boolean;
}

export function Button({ look, small, icon, busy, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={clsx(buttonClass(look, { small, square: !children }), className)}
    >
      {busy ? <LoaderCircle className="size-4 animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  );
}

/** A button that is an icon alone: its label is spoken, and shown on hover. */
export function IconButton({ label, ...rest }: Omit<ButtonProps, "children"> & { label: string }) {
  return <Button look="quiet" {...rest} aria-label={label} title={label} />;
}
