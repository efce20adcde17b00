import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { stateWords } from "../../ui/run-state.tsx";
import { CreatedFacet } from "./created-facet.tsx";
import { Choices, chosenWords, Facet, type Option } from "./facet.tsx";
import { MetadataFacet } from "./metadata-facet.tsx";
import { filterNames, type RunsSearch, sources, sourceWords, split, states } from "./search.ts";
import { TextEntry, TextFacet } from "./text-facet.tsx";

type Change = { [K in keyof RunsSearch]?: RunsSearch[K] | undefined };

interface FilterBarProps {
  search: RunsSearch;
  /** What is loaded suggests what to filter by. */
  rows: readonly RunItem[];
  onChange: (part: Change) => void;
}

/** Every filter in sight, all the time. */
export function FilterBar({ search, rows, onChange }: FilterBarProps) {
  const { data: environments = [] } = useQuery(queries.environments());
  const { data: models } = useQuery(queries.models());
  const { data: skills = [] } = useQuery(queries.skills());
  const { data: identities = [] } = useQuery(queries.identities());
  const { data: me } = useQuery(queries.me());
  const { data: everybody = [] } = useQuery({ ...queries.people(), enabled: me?.role === "admin" });

  const people = distinct([
    { value: "me", label: "Me" },
    ...identities.map(({ uid, name }) => ({ value: uid, label: name })),
    ...everybody.map(({ uid, display_name }) => ({ value: uid, label: display_name })),
    ...rows.map(({ creator }) => ({ value: creator.uid, label: creator.display_name })),
  ]).filter(({ value }) => value !== me?.uid);
  const several: {
    name: "state" | "environment" | "creator" | "source" | "model";
    label: string;
    options: Option[];
  }[] = [
    { name: "state", label: "State", options: states.map((value) => ({ value, label: stateWords[value] })) },
    {
      name: "environment",
      label: "Environment",
      options: environments.map(({ environment_id, name }) => ({ value: environment_id, label: name })),
    },
    { name: "creator", label: "Creator", options: people },
    {
      name: "source",
      label: "Source",
      options: sources.map((value) => ({ value, label: sourceWords[value] })),
    },
    {
      name: "model",
      label: "Model",
      options: modelsOf(
        models?.models.map(({ model_id }) => model_id),
        rows,
      ),
    },
  ];
  const isFiltered = search.q !== undefined || filterNames.some((name) => search[name] !== undefined);
  return (
    <search
      aria-label="Filters"
      className="-mx-4 flex items-center gap-1.5 overflow-x-auto px-4 py-1 sm:mx-0 sm:flex-wrap sm:px-0"
    >
      {several.map(({ name, label, options }) => {
        const chosen = split(search[name]);
        const set = (values: string[]) => onChange({ [name]: values.join(",") || undefined });
        return (
          <Facet key={name} label={label} value={chosenWords(options, chosen)}>
            <Choices options={options} chosen={chosen} onChange={set} empty="There is none yet." />
            {name === "creator" && (
              <TextEntry
                label="E-mail address or uid"
                placeholder="somebody@example.com"
                value=""
                suggestions={[]}
                onChange={(value) => value && set([...chosen, value])}
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
      <CreatedFacet from={search.from} to={search.to} onChange={onChange} />
      <MetadataFacet pairs={search.metadata ?? []} onChange={(metadata) => onChange({ metadata })} />
      {isFiltered && (
        <Button
          small
          look="quiet"
          onClick={() => onChange(Object.fromEntries(["q", ...filterNames].map((name) => [name, undefined])))}
        >
          Clear filters
        </Button>
      )}
    </search>
  );
}

function distinct(options: Option[]): Option[] {
  return [...new Map(options.map((option) => [option.value, option])).values()];
}

function modelsOf(listed: string[] = [], rows: readonly RunItem[]): Option[] {
  const seen = rows.flatMap(({ agent_config }) => agent_config.model_id ?? []);
  return [...new Set([...listed, ...seen])].map((value) => ({ value, label: value }));
}
