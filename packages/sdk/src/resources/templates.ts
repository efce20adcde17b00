import { path } from "../address.ts";
import type { ListTemplatesResponse, Template, TemplateRequest } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Prompts with variables, shared by all users. */
export class Templates {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists all templates, sorted by name. */
  list(options?: RequestOptions): ResponsePromise<ListTemplatesResponse> {
    return this.#http.request({ method: "GET", path: "/agent/templates" }, options);
  }

  create(body: TemplateRequest, options?: RequestOptions): ResponsePromise<Template> {
    return this.#http.request({ method: "POST", path: "/agent/templates", body }, options);
  }

  get(templateId: string, options?: RequestOptions): ResponsePromise<Template> {
    return this.#http.request({ method: "GET", path: path`/agent/templates/${templateId}` }, options);
  }

  replace(templateId: string, body: TemplateRequest, options?: RequestOptions): ResponsePromise<Template> {
    return this.#http.request({ method: "PUT", path: path`/agent/templates/${templateId}`, body }, options);
  }

  delete(templateId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/templates/${templateId}` }, options);
  }
}
