import { aBrowser, hiddenIn } from "../people/browser.ts";
import type { ProcessWorld } from "../support/process-world.ts";

/** Signs the owner of the app on, and presses the one button of the page. Answers the page that comes of it. */
export async function pressed(
  url: string,
  { control }: Pick<ProcessWorld, "control">,
  uuid: string,
  action: string,
): Promise<string> {
  const browser = aBrowser(() => url);
  await browser.post("/sso/login", {}, new URLSearchParams(control.signOnForm(uuid).form));
  const { text } = await browser.get(`/customer/${uuid}`);
  const form = new URLSearchParams(hiddenIn(text));
  const { location } = await browser.post(`/customer/${uuid}/actions/${action}`, { origin: url }, form);
  return (await browser.get(location!)).text;
}
