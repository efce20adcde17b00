import clsx from "clsx";
import { DropdownMenu } from "radix-ui";
import type { ComponentProps, ReactElement, ReactNode } from "react";

export interface MenuProps {
  /** The button that opens the menu. */
  trigger: ReactElement<ComponentProps<"button">>;
  children: ReactNode;
  align?: "start" | "end";
}

/**
 * Shows a menu that starts open, because the click that opens it also loads this module. The menu is not modal, because
 * a modal menu locks scrolling with an inline style sheet, which the content security policy blocks.
 */
export function OpenedMenu({ trigger, children, align = "end" }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          collisionPadding={8}
          className="z-50 min-w-44 rounded-lg border border-line bg-surface p-1 shadow-pop"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export interface MenuItemProps {
  icon?: ReactNode;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({ icon, danger, disabled, onSelect, children }: MenuItemProps) {
  return (
    <DropdownMenu.Item
      disabled={disabled ?? false}
      onSelect={onSelect}
      className={clsx(
        "flex h-10 select-none sm:h-8 items-center gap-2 rounded-md px-2 outline-none data-highlighted:bg-raised data-disabled:opacity-50",
        danger && "text-bad",
      )}
    >
      {icon}
      {children}
    </DropdownMenu.Item>
  );
}

export function MenuSeparator() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
}
