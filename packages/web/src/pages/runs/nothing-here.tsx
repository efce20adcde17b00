import { Link } from "@tanstack/react-router";
import { SearchX, SquareTerminal } from "lucide-react";
import { buttonClass } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import type { RunsSearch } from "./search.ts";

/** No runs at all is another thing than none that fits. */
export function NothingHere({ search: { sort: _, order: __, ...asked } }: { search: RunsSearch }) {
  if (Object.keys(asked).length > 0) {
    return (
      <Empty
        icon={<SearchX className="size-5" aria-hidden />}
        title="No run fits these filters"
        action={
          <Link to="/runs" search={{}} className={buttonClass()}>
            Show all runs
          </Link>
        }
      >
        Take a filter away, or search for other words.
      </Empty>
    );
  }
  return (
    <Empty
      icon={<SquareTerminal className="size-5" aria-hidden />}
      title="No runs yet"
      action={
        <Link to="/" hash="new-run" className={buttonClass()}>
          Start the first one
        </Link>
      }
    >
      Each task that an agent is given becomes a run: started here, by the API, the command line or a CI job.
      All of them appear in this list, with what they did and what they cost.
    </Empty>
  );
}
