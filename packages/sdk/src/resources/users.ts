import { path } from "../address.ts";
import type {
  InviteUserRequest,
  InviteUserResponse,
  ListUsersResponse,
  SignInLinkResponse,
  UpdateUserRequest,
  User,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Users. Admins only. */
export class Users {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  list(options?: RequestOptions): ResponsePromise<ListUsersResponse> {
    return this.#http.request({ method: "GET", path: "/users" }, options);
  }

  /** Invites a user. The response contains a one-time sign-in link, which is never shown again. */
  invite(body: InviteUserRequest, options?: RequestOptions): ResponsePromise<InviteUserResponse> {
    return this.#http.request({ method: "POST", path: "/users", body }, options);
  }

  /** Changes a user's name or role. The last admin cannot be demoted. */
  update(uid: string, body: UpdateUserRequest, options?: RequestOptions): ResponsePromise<User> {
    return this.#http.request({ method: "PATCH", path: path`/users/${uid}`, body }, options);
  }

  /** Deletes a user and revokes their sessions and keys. Their runs are kept. */
  delete(uid: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/users/${uid}` }, options);
  }

  /** Creates a one-time sign-in link, which replaces the previous one. */
  link(uid: string, options?: RequestOptions): ResponsePromise<SignInLinkResponse> {
    return this.#http.request({ method: "POST", path: path`/users/${uid}/link` }, options);
  }
}
