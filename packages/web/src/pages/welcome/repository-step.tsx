import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queries } from "../../queries.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Step } from "./step.tsx";

/** Leads to the forms that give runs a repository. The first run needs none. */
export function RepositoryStep({ number }: { number: number }) {
  const { data: environments } = useQuery(queries.environments());
  const { data: forges } = useQuery(queries.forges());
  const withRepository = environments?.find(({ repos }) => (repos ?? []).length > 0);
  return (
    <Step
      number={number}
      title={withRepository ? `Repository: ${withRepository.name}` : "Connect a repository"}
      state={withRepository ? "done" : "open"}
    >
      <p className="text-muted">
        {withRepository
          ? "Runs in this environment start with the repository checked out."
          : "An environment has your repositories and tools. Connect a forge first if runs should open pull requests. You can also do this later: the first run needs none."}
      </p>
      <div className="flex flex-wrap gap-2 pt-3">
        <Link to="/environments/new" className={buttonClass("plain")}>
          {withRepository ? "Create another environment" : "Use a git URL"}
        </Link>
        <Link to="/settings" search={{ section: "forges" }} className={buttonClass("plain")}>
          {forges && forges.length > 0
            ? `Connected: ${forges.map(({ host }) => host).join(", ")}`
            : "Connect GitHub, GitLab or Gitea"}
        </Link>
      </div>
    </Step>
  );
}
