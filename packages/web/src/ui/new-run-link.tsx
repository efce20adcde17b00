import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { buttonClass } from "./button.tsx";

/** Opens the form for a new run. */
export function NewRunLink() {
  return (
    <Link to="/" hash="new-run" className={buttonClass()}>
      <Plus className="size-4" aria-hidden />
      New run
    </Link>
  );
}
