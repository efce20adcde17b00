import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { buttonClass } from "../ui/button.tsx";
import { Empty } from "../ui/empty.tsx";
import { useTitle } from "../ui/page.tsx";

export function NotFound() {
  useTitle("Not found");
  return (
    <main id="main">
      <Empty
        icon={<Compass className="size-5" aria-hidden />}
        title="Nothing has this address"
        action={
          <Link to="/" className={buttonClass("primary")}>
            Go home
          </Link>
        }
      >
        The link may be mistyped, or what it named was deleted.
      </Empty>
    </main>
  );
}
