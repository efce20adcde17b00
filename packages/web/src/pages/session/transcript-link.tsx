import { Link } from "@tanstack/react-router";
import { buttonClass } from "../../ui/button.tsx";

/** Leads from an empty tab of a run to its transcript. */
export function TranscriptLink() {
  return (
    <Link to="." search={{}} className={buttonClass()}>
      View transcript
    </Link>
  );
}
