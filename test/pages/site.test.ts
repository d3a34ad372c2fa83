import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import express, { Router } from "express";
import type { Config } from "../../src/config.ts";
import { createLog } from "../../src/logging/log.ts";
import { show, site } from "../../src/pages/pages.tsx";
import { BACKGROUNDS, PALETTE } from "../../src/pages/palette.ts";
import { createScrubber } from "../../src/secret.ts";

let server: Server;
let url: string;

beforeAll(() => {
  const config = { addonId: `Tea & "pots"` } as Config;
  const ctx = { config, log: createLog("silent", createScrubber("")) };
  const router = Router();
  router.get("/page", (request, response) =>
    show(ctx, request, response, { title: "<i>Hello</i>", content: "& all" }),
  );
  server = express()
    .disable("x-powered-by")
    .use(site(ctx, { "/here": [router] }))
    .listen(0);
  url = `http://localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

it("a page allows only our stylesheet and our forms, escapes text, and must not be cached or framed", async () => {
  const answer = await fetch(`${url}/here/page`);
  const { headers } = answer;
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none';style-src 'self';img-src data:;form-action 'self';frame-ancestors 'none';base-uri 'none'",
  );
  expect(Object.fromEntries(headers)).toMatchObject({
    "cache-control": "no-store",
    "content-type": "text/html; charset=utf-8",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
  });
  const text = await answer.text();
  expect(text).toMatch(/^<!doctype html><html lang="en">/);
  expect(text).toContain("<h1>&lt;i>Hello&lt;/i></h1>&amp; all</main>");
  expect(text).not.toMatch(/<script|<style| style=| on\w+=/);
});

it("the stylesheet has a name derived from its content, under which alone it may be cached for ever", async () => {
  const html = await (await fetch(`${url}/here/page`)).text();
  const [, href] = /<link rel="stylesheet" href="([^"]+)"/.exec(html)!;
  expect(href).toMatch(/^\/assets\/style\.css\?v=[0-9a-f]{12}$/);
  const response = await fetch(url + href);
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "text/css; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
  });
  expect(await response.text()).toMatch(/Pico CSS[^]*main dl \{/);
  const other = await fetch(`${url}/assets/style.css?v=0123456789ab`);
  expect([other.status, other.headers.get("cache-control")]).toEqual([200, "public, no-cache"]);
});

it("the service's pages and the sandbox's have the same colours", () => {
  const sandbox = readFileSync(new URL("../../packages/sandbox/pages/pages.css", import.meta.url), "utf8");
  const colours = (css: string) =>
    css
      .split("@media (prefers-color-scheme: dark)")
      .map((look) =>
        Object.fromEntries(
          [...look.matchAll(/(--[\w-]+): (#\w+|rgb\([^)]*\));/g)].map(([, name, value]) => [name, value]),
        ),
      );
  const [light, dark] = colours(sandbox);
  const [ours, oursInTheDark] = colours(PALETTE);
  expect(light).toMatchObject(ours!);
  expect(dark).toMatchObject(oursInTheDark!);
  const { light: onLight, dark: onDark } = BACKGROUNDS;
  const of = (look: Record<string, string | undefined>) =>
    ["background-color", "card-background-color", "code-background-color"].map((each) =>
      look[`--pico-${each}`]!.replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3"),
    );
  expect([onLight, onDark]).toEqual([of(ours!), of(oursInTheDark!)]);
});
