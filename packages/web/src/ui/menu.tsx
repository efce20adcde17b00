import { cloneElement, createContext, useContext, useState } from "react";
import type { MenuItemProps, MenuProps } from "./menu-parts.tsx";

type Parts = typeof import("./menu-parts.tsx");

const load = (): Promise<Parts> => import("./menu-parts.tsx");
const PartsContext = createContext<Parts | undefined>(undefined);

/** What it is made of is a good part of the app's size, and most readers open none: it is fetched with the first press. */
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

export function MenuLine() {
  const parts = useContext(PartsContext);
  return parts && <parts.MenuLine />;
}
