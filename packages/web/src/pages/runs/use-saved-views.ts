import type { CreateViewRequest, UpdateViewRequest, View } from "@outrider/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { outrider } from "../../api.ts";
import { queries } from "../../queries.ts";

/** Loads the user's own views and those that others share, and changes them. */
export function useSavedViews() {
  const client = useQueryClient();
  const { data: views = [] } = useQuery(queries.views());
  const { data: me } = useQuery(queries.me());
  const onSuccess = () => client.invalidateQueries(queries.views());
  const create = useMutation({
    mutationFn: (view: CreateViewRequest) => outrider.views.create(view),
    onSuccess,
  });
  const update = useMutation({
    mutationFn: ({ view_id, ...part }: UpdateViewRequest & Pick<View, "view_id">) =>
      outrider.views.update(view_id, part),
    onSuccess,
  });
  const remove = useMutation({ mutationFn: (viewId: string) => outrider.views.delete(viewId), onSuccess });
  return {
    views,
    /** Whether the user may change a view. Others can only use it. */
    canChange: ({ owner }: View) => me !== undefined && (me.role === "admin" || me.uid === owner.uid),
    create,
    update,
    remove,
  };
}
