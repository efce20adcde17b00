import { useNavigate } from "@tanstack/react-router";
import { Dialog } from "../ui/dialog.tsx";
import { places } from "./nav.ts";

/** From anywhere to anywhere by a few letters. */
export function Palette({ onClose }: { onClose: () => void; onHelp: () => void }) {
  const navigate = useNavigate();
  return (
    <Dialog open onClose={onClose} title="Go to">
      {places.map(({ to, label }) => (
        <button
          key={to}
          type="button"
          className="block h-9 w-full rounded-md px-2 text-left hover:bg-raised"
          onClick={() => {
            onClose();
            void navigate({ to });
          }}
        >
          {label}
        </button>
      ))}
    </Dialog>
  );
}
