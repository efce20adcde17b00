import { Page } from "../../ui/page.tsx";

export function Environment() {
  return <Page title="Environment">{null}</Page>;
}
