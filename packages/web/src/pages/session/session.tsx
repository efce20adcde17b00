import { Page } from "../../ui/page.tsx";

export function Session() {
  return <Page title="Run">{null}</Page>;
}
