import { cloneElement, createContext, useContext, useState } from "react";
import type { MenuItemProps, MenuProps } from "./menu-parts.tsx";

type Parts = typeof import("./menu-parts.tsx");

const load = (): Promise<Parts> => import("./menu-parts.tsx");
const PartsContext = createContext<Parts | undefined>(undefined);

/** Shows a dropdown menu. Its library is large and rarely needed, so it is loaded on first use. */
export function Menu(props: MenuProps) {
  const [parts, setParts] = useState<Parts>();
  if (parts) {
    return (
      <PartsContext value={parts}>
        <parts.OpenedMenu {...props} />
      </PartsContext>
    );
  }
  return cloneElement(props.trigger, {
    "aria-haspopup": "menu",
    "aria-expanded": false,
    onClick: () => void load().then(setParts),
    onPointerEnter: () => void load(),
    onFocus: () => void load(),
  });
}

export function MenuItem(props: MenuItemProps) {
  const parts = useContext(PartsContext);
  return parts && <parts.MenuItem {...props} />;
}

export function MenuSeparator() {
  const parts = useContext(PartsContext);
  return parts && <parts.MenuSeparator />;
}
