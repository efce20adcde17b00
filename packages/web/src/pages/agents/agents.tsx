import { Page } from "../../ui/page.tsx";

export function Agents() {
  return <Page title="Cloud agents">{null}</Page>;
}
