import { path } from "../address.ts";
import type {
  InvitePersonRequest,
  InvitePersonResponse,
  ListPeopleResponse,
  Person,
  SignInLinkResponse,
  UpdatePersonRequest,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** For admins. */
export class People {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  list(options?: RequestOptions): ResponsePromise<ListPeopleResponse> {
    return this.#http.request({ method: "GET", path: "/people" }, options);
  }

  /** The answer holds a one-time sign-in link, this once: hand it over yourself. */
  invite(body: InvitePersonRequest, options?: RequestOptions): ResponsePromise<InvitePersonResponse> {
    return this.#http.request({ method: "POST", path: "/people", body }, options);
  }

  /** Changes the name or the role. The last admin stays one. */
  update(uid: string, body: UpdatePersonRequest, options?: RequestOptions): ResponsePromise<Person> {
    return this.#http.request({ method: "PATCH", path: path`/people/${uid}`, body }, options);
  }

  /** Ends their sessions and keys at once; their runs stay. */
  delete(uid: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/people/${uid}` }, options);
  }

  /** A new one-time sign-in link, in place of the one before. */
  link(uid: string, options?: RequestOptions): ResponsePromise<SignInLinkResponse> {
    return this.#http.request({ method: "POST", path: path`/people/${uid}/link` }, options);
  }
}
