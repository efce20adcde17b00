import type { CreateKeyResponse } from "@outrider/sdk";

export interface KeySnippet {
  tool: string;
  code: string;
}

const PROMPT = "Run the tests and fix what fails.";

/** Returns examples for this key and server, limited to the actions that the key allows. */
export function snippetsFor(
  { type, key = "", scopes, limits }: CreateKeyResponse,
  origin: string,
): KeySnippet[] {
  if (type === "worker") {
    const code = `OUTRIDER_WORKER_KEY=${key} \\\n  bin/outrider worker --server ${origin} --slots 4`;
    return [{ tool: "Start a worker", code }];
  }
  const api = `${origin}/api/v1`;
  const environment = limits?.environment_ids?.[0];
  const login = `outrider login --server ${origin} --key-stdin <<< ${key}`;
  if (!scopes.includes("runs:write")) {
    return [
      { tool: "curl", code: `curl -s ${api}/agent/runs \\\n  -H "Authorization: Bearer ${key}"` },
      {
        tool: "TypeScript",
        code: typescript(
          key,
          api,
          `for await (const run of outrider.runs.list()) console.log(run.state, run.title);`,
        ),
      },
      {
        tool: "Python",
        code: python(key, api, `for run in client.runs.list():\n    print(run.state, run.title)`),
      },
      { tool: "Command line", code: `${login}\noutrider runs list` },
    ];
  }
  const body = { prompt: PROMPT, ...(environment ? { config: { environment_id: environment } } : {}) };
  const config = environment ? `, config={"environment_id": "${environment}"}` : "";
  return [
    {
      tool: "curl",
      code: `curl -s ${api}/agent/run \\\n  -H "Authorization: Bearer ${key}" \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body)}'`,
    },
    {
      tool: "TypeScript",
      code: typescript(
        key,
        api,
        `const { run_id } = await outrider.runs.create(${JSON.stringify(body)});\nconst run = await outrider.runs.wait(run_id);\nconsole.log(run.state, run.session_link);`,
      ),
    },
    {
      tool: "Python",
      code: python(
        key,
        api,
        `made = client.runs.create(prompt="${PROMPT}"${config})\nrun = client.runs.wait(made.run_id)\nprint(run.state, run.session_link)`,
      ),
    },
    {
      tool: "Command line",
      code: `${login}\noutrider run '${PROMPT}'${environment ? ` --env ${environment}` : ""} --follow`,
    },
  ];
}

function typescript(key: string, api: string, rest: string): string {
  return `import { Outrider } from "@outrider/sdk";\n\nconst outrider = new Outrider({\n  apiKey: "${key}",\n  baseURL: "${api}",\n});\n${rest}`;
}

function python(key: string, api: string, rest: string): string {
  return `from outrider import Outrider\n\nclient = Outrider(api_key="${key}", base_url="${api}")\n${rest}`;
}
