import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { openStage, type Stage } from "../../conformance/stage/stage.ts";
import { aPartner, type Partner } from "../sandbox/partner.ts";
import { exampleSettings } from "./judged.ts";

let partner: Partner;
let stage: Stage;
beforeEach(async () => {
  partner = await aPartner();
  stage = await openStage({ ...exampleSettings, url: partner.url });
});
afterEach(async () => {
  await stage.close();
  await partner.close();
});

it("a provision names the resource's address at the platform that the service was told of", async () => {
  const { uuid } = await stage.install();
  const { callback_url: address } = JSON.parse(partner.requests[0]!.body) as { callback_url: string };
  expect(address).toBe(`${stage.platformUrl}/addons/${uuid}`);
  await fetch(address, { headers: { accept: "application/json" } });
  expect(stage.books.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([`GET /addons/${uuid}`]);
});
