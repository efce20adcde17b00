import { Page } from "../../ui/page.tsx";

export function Skills() {
  return <Page title="Skills">{null}</Page>;
}
