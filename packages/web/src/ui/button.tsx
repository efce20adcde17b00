import clsx from "clsx";
import { LoaderCircle } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";

export type ButtonVariant = "primary" | "plain" | "quiet" | "danger";

const variants: Record<ButtonVariant, string> = {
  primary: "bg-accent text-on-accent hover:bg-accent-hover",
  plain: "border border-line bg-surface hover:bg-raised",
  quiet: "text-muted hover:bg-raised hover:text-ink",
  danger: "border border-line bg-surface text-bad hover:bg-bad-soft",
};

/** Returns a button's classes. Links that look like buttons also use them. */
export function buttonClass(
  variant: ButtonVariant = "plain",
  { small = false, square = false } = {},
): string {
  return clsx(
    "inline-flex shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-md font-medium transition-colors",
    "disabled:opacity-50 disabled:pointer-events-none aria-disabled:opacity-50",
    small ? "h-7 text-xs" : "h-9 text-sm",
    square ? (small ? "w-7" : "w-9") : small ? "px-2" : "px-3",
    variants[variant],
  );
}

interface ButtonProps extends ComponentProps<"button"> {
  variant?: ButtonVariant;
  small?: boolean;
  icon?: ReactNode;
  /** Shows a spinner and disables the button. */
  busy?: boolean;
}

export function Button({ variant, small, icon, busy, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={clsx(buttonClass(variant, { small, square: !children }), className)}
    >
      {busy ? <LoaderCircle className="size-4 animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  );
}

/** Shows a button with only an icon. The label is its accessible name and its tooltip. */
export function IconButton({ label, ...rest }: Omit<ButtonProps, "children"> & { label: string }) {
  return <Button variant="quiet" title={label} {...rest} aria-label={label} />;
}
