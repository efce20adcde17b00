import { runSources, runStates } from "@outrider/contract/run-state";
import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { pullRequestLabels } from "../../ui/pull-request-badge.tsx";
import { stateLabels } from "../../ui/run-state.tsx";
import { CreatedFacet } from "./created-facet.tsx";
import { Choices, Facet, type Option, selectedLabel } from "./facet.tsx";
import { MetadataFacet } from "./metadata-facet.tsx";
import { filterNames, pullRequestStates, type RunsSearch, sourceLabels, split } from "./search.ts";
import { TextEntry, TextFacet } from "./text-facet.tsx";

type Change = { [K in keyof RunsSearch]?: RunsSearch[K] | undefined };

interface FilterBarProps {
  search: RunsSearch;
  /** The loaded runs, from which suggestions are derived. */
  rows: readonly RunItem[];
  onChange: (part: Change) => void;
}

export function FilterBar({ search, rows, onChange }: FilterBarProps) {
  const { data: environments = [] } = useQuery(queries.environments());
  const { data: models } = useQuery(queries.models());
  const { data: harnesses = [] } = useQuery(queries.harnesses());
  const { data: skills = [] } = useQuery(queries.skills());
  const { data: identities = [] } = useQuery(queries.identities());
  const { data: me } = useQuery(queries.me());
  const { data: allUsers = [] } = useQuery({ ...queries.users(), enabled: me?.role === "admin" });

  const users = distinct([
    { value: "me", label: "Me" },
    ...identities.map(({ uid, name }) => ({ value: uid, label: name })),
    ...allUsers.map(({ uid, display_name }) => ({ value: uid, label: display_name })),
    ...rows.map(({ creator }) => ({ value: creator.uid, label: creator.display_name })),
  ]).filter(({ value }) => value !== me?.uid);
  const multiFilters: {
    name:
      | "state"
      | "environment"
      | "creator"
      | "source"
      | "model"
      | "harness"
      | "pull_request"
      | "artifact_type"
      | "error_code";
    label: string;
    options: Option[];
  }[] = [
    {
      name: "state",
      label: "State",
      options: runStates.map((value) => ({ value, label: stateLabels[value] })),
    },
    {
      name: "environment",
      label: "Environment",
      options: [
        ...environments.map(({ environment_id, name }) => ({ value: environment_id, label: name })),
        { value: "none", label: "No environment" },
      ],
    },
    { name: "creator", label: "Creator", options: users },
    {
      name: "source",
      label: "Source",
      options: runSources.map((value) => ({ value, label: sourceLabels[value] })),
    },
    {
      name: "model",
      label: "Model",
      options: modelsOf(
        models?.models.map(({ model_id }) => model_id),
        rows,
      ),
    },
    {
      name: "harness",
      label: "Harness",
      options: harnesses.map(({ name, title }) => ({ value: name, label: title })),
    },
    {
      name: "pull_request",
      label: "Pull request",
      options: pullRequestStates.map((value) => ({ value, label: pullRequestLabels[value] })),
    },
    // Usually set by a link, so the button appears only then.
    ...(search.artifact_type
      ? [{ name: "artifact_type" as const, label: "Artifact", options: artifactOptions }]
      : []),
    ...(search.error_code
      ? [{ name: "error_code" as const, label: "Error", options: errorOptions(search.error_code) }]
      : []),
  ];
  const isFiltered = search.q !== undefined || filterNames.some((name) => search[name] !== undefined);
  return (
    <search
      aria-label="Filters"
      className="-mx-4 flex items-center gap-1.5 overflow-x-auto px-4 py-1 sm:mx-0 sm:flex-wrap sm:px-0"
    >
      {multiFilters.map(({ name, label, options }) => {
        const selected = split(search[name]);
        const set = (values: string[]) => onChange({ [name]: values.join(",") || undefined });
        return (
          <Facet key={name} label={label} value={selectedLabel(options, selected)}>
            <Choices options={options} selected={selected} onChange={set} empty="None yet" />
            {name === "creator" && (
              <TextEntry
                label="Email address or user ID"
                placeholder="user@example.com"
                value=""
                suggestions={[]}
                onChange={(value) => value && set([...selected, value])}
              />
            )}
          </Facet>
        );
      })}
      <TextFacet
        label="Name"
        value={search.name}
        placeholder="nightly-tests"
        suggestions={[...new Set(rows.flatMap(({ agent_config }) => agent_config.name ?? []))]}
        onChange={(name) => onChange({ name })}
      />
      <TextFacet
        label="Skill"
        value={search.skill}
        placeholder="owner/repo:skill-name"
        suggestions={skills.map(({ skill_spec }) => skill_spec)}
        onChange={(skill) => onChange({ skill })}
      />
      {search.repository && (
        <TextFacet
          label="Repository"
          value={search.repository}
          placeholder="https://git.example.com/team/project.git"
          suggestions={[
            ...new Set(environments.flatMap(({ repos }) => repos.flatMap(({ url }) => url ?? []))),
          ]}
          onChange={(repository) => onChange({ repository })}
        />
      )}
      <CreatedFacet from={search.from} to={search.to} onChange={onChange} />
      <MetadataFacet pairs={search.metadata ?? []} onChange={(metadata) => onChange({ metadata })} />
      {isFiltered && (
        <Button
          small
          variant="quiet"
          onClick={() =>
            onChange(Object.fromEntries(["q", "view", ...filterNames].map((name) => [name, undefined])))
          }
        >
          Clear filters
        </Button>
      )}
    </search>
  );
}

const artifactOptions: Option[] = [
  { value: "PULL_REQUEST", label: "Pull request" },
  { value: "PATCH", label: "Patch" },
  { value: "FILE", label: "File" },
];

/** Shows error codes as words, such as "Step limit exceeded". */
function errorOptions(codes: string): Option[] {
  return split(codes).map((value) => {
    if (value === "none") return { value, label: "Unknown error" };
    const words = value.replaceAll("_", " ");
    return { value, label: words.charAt(0).toUpperCase() + words.slice(1) };
  });
}

function distinct(options: Option[]): Option[] {
  return [...new Map(options.map((option) => [option.value, option])).values()];
}

function modelsOf(listed: string[] = [], rows: readonly RunItem[]): Option[] {
  const seen = rows.flatMap(({ agent_config }) => agent_config.model_id ?? []);
  return [...new Set([...listed, ...seen])].map((value) => ({ value, label: value }));
}
