import type { ModelProvider } from "@outrider/contract/model-provider";
import { requireAllEnvironments } from "../../engine/auth/environment-access.ts";
import { isAdmin, type Principal } from "../../engine/auth/principal.ts";
import { topics } from "../../engine/live/pubsub.ts";
import type { EffectiveModels } from "../../engine/models/effective-models.ts";
import { providerNotFound } from "../../engine/models/model-providers.ts";
import type { Db, Sql, Tx } from "../../store/connection/db.ts";
import { listModelTests } from "../../store/model-providers.ts";
import { type Handlers, noContent, ok } from "../pipeline/call.ts";

type ModelProviderOperation =
  | "listModelProviders"
  | "getModelProvider"
  | "putModelProvider"
  | "deleteModelProvider"
  | "testModelProvider"
  | "getModelSettings"
  | "setModelSettings";

export const modelProviderHandlers: Pick<Handlers, ModelProviderOperation> = {
  async listModelProviders({ sql, services, principal }) {
    return ok({ providers: await viewsFor(principal, sql, await services.models.read(sql)) });
  },

  async getModelProvider({ sql, services, principal, params }) {
    const { providerName } = params;
    const views = await viewsFor(principal, sql, await services.models.read(sql));
    const provider = views.find(({ name }) => name === providerName);
    if (!provider) throw providerNotFound(providerName);
    return ok(provider);
  },

  async putModelProvider({ services, principal, params, body, publish }) {
    requireAllEnvironments(principal);
    const { modelProviders, models, db } = services;
    const { providerName: name } = params;
    // Resolving the host name can take long, so it happens before the transaction.
    await modelProviders.check(name, body);
    const { provider, changed } = await inTransaction(db, (tx) =>
      modelProviders.put(tx, { name, request: body, createdBy: principal.userUid }),
    );
    models.apply(changed);
    publish(topics.models);
    return ok(provider);
  },

  async deleteModelProvider({ sql, services, principal, params, publish, onSettled }) {
    requireAllEnvironments(principal);
    const changed = await services.modelProviders.delete(sql, params.providerName);
    onSettled((isCommitted) => isCommitted && services.models.apply(changed));
    publish(topics.models);
    return noContent;
  },

  async testModelProvider({ sql, services, principal, params, body }) {
    requireAllEnvironments(principal);
    const { providerName: name } = params;
    return ok(await services.modelProviders.test(sql, { name, model: body.model }));
  },

  async getModelSettings({ sql, services }) {
    return ok((await services.models.read(sql)).settings);
  },

  async setModelSettings({ sql, services, principal, body, publish, onSettled }) {
    requireAllEnvironments(principal);
    const changed = await services.modelProviders.setSettings(sql, body);
    onSettled((isCommitted) => isCommitted && services.models.apply(changed));
    publish(topics.models);
    return ok(changed.settings);
  },
};

function inTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return db.begin(work) as Promise<T>;
}

/** Only admins see addresses, test results and reasons that may name files of the server. */
async function viewsFor(
  principal: Principal,
  sql: Sql,
  { views, providers }: EffectiveModels,
): Promise<ModelProvider[]> {
  if (isAdmin(principal)) {
    const tests = await listModelTests(sql);
    return views().map((view) => {
      const last_test = tests.get(view.name);
      return last_test ? { ...view, last_test } : view;
    });
  }
  return views().map(({ name, type, source, has_key, models, available }) => ({
    ...{ name, type, source, has_key, models, available },
    ...(available ? {} : { reason: providers[name]?.publicReason ?? "not available" }),
  }));
}
