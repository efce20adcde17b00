import type { Skill } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play, Search, WandSparkles } from "lucide-react";
import { useState } from "react";
import { queries } from "../../queries.ts";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { TextInput } from "../../ui/form/field.tsx";
import { Page } from "../../ui/page.tsx";
import { CopyButton } from "../../ui/text/copy.tsx";
import { SkillsHelp } from "./skills-help.tsx";

const MIN_SEARCHABLE = 8;

export function Skills() {
  const { data, error, refetch } = useQuery(queries.skills());
  const { data: environments = [] } = useQuery(queries.environments());
  const [query, setQuery] = useState("");
  const names = new Map(environments.map(({ environment_id, name }) => [environment_id, name]));
  const shown = data?.filter((skill) =>
    `${skill.name} ${skill.description} ${skill.skill_spec}`.toLowerCase().includes(query.toLowerCase()),
  );
  return (
    <Page
      title="Skills"
      lead="Instructions for a kind of task, stored in repositories. Outrider finds them when it builds an environment, and each run can use one."
    >
      {error ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : !data || !shown ? (
        <SkeletonRows label="Loading skills" />
      ) : data.length === 0 ? (
        <EmptyState
          icon={<WandSparkles className="size-5" aria-hidden />}
          title="No skills yet"
          action={
            <Link to="/environments" className={buttonClass()}>
              View environments
            </Link>
          }
        >
          <SkillsHelp />
        </EmptyState>
      ) : (
        <>
          {data.length > MIN_SEARCHABLE && (
            <div className="relative mb-3 max-w-sm">
              <Search className="absolute top-2.5 left-3 size-4 text-muted" aria-hidden />
              <TextInput
                type="search"
                aria-label="Search skills"
                placeholder="Search skills"
                className="pl-9!"
                value={query}
                onChange={({ target }) => setQuery(target.value)}
              />
            </div>
          )}
          <p role="status" className="sr-only">
            {shown.length} skills
          </p>
          {shown.length === 0 ? (
            <p className="py-8 text-muted">No matching skills</p>
          ) : (
            <ul className="divide-y divide-line rounded-xl border border-line bg-surface">
              {shown.map((skill) => (
                <SkillRow key={skill.skill_spec} skill={skill} names={names} />
              ))}
            </ul>
          )}
        </>
      )}
    </Page>
  );
}

function SkillRow({ skill, names }: { skill: Skill; names: Map<string, string> }) {
  const { name, description, skill_spec, environments } = skill;
  const [first] = environments;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <h2 className="font-medium">{name}</h2>
        <p className="break-words text-muted">{description || "No description"}</p>
        <p className="mt-1 flex flex-wrap items-center gap-x-2 text-xs text-muted">
          <code className="break-all">{skill_spec}</code>
          <CopyButton text={skill_spec} what={`spec of ${name}`} />
          <span>
            in{" "}
            {environments.map((id, index) => (
              <span key={id}>
                {index > 0 && ", "}
                <Link
                  to="/environments/$environmentId"
                  params={{ environmentId: id }}
                  className="text-accent-ink underline"
                >
                  {names.get(id) ?? id.slice(0, 8)}
                </Link>
              </span>
            ))}
          </span>
        </p>
      </div>
      <Link
        to="/"
        search={{ skill: skill_spec, ...(first ? { environment: first } : {}) }}
        className={buttonClass()}
      >
        <Play className="size-4" aria-hidden />
        Run with this skill<span className="sr-only">, {name}</span>
      </Link>
    </li>
  );
}
