import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { aWorld, manifest, type TestWorld } from "./world.ts";

/** `bin/run` or `bin/run.js` of an installed package of the customers' command line; it is no dependency of this one. */
const tool = process.env["CUSTOMERS_CLI"];

let world: TestWorld;
let home: string;

beforeAll(async () => {
  const plans = [
    { name: "basic", price: { cents: 0, unit: "month" } },
    { name: "premium", price: { cents: 500, unit: "month" } },
  ];
  world = await aWorld({ addonManifest: { ...manifest, plans }, customerApi: true });
  world.control.createApp({ name: "shop" });
  home = await mkdtemp(path.join(tmpdir(), "customer-"));
});
afterAll(async () => {
  await world.close();
  await rm(home, { recursive: true });
});

/** What the customer reads, in one line. */
function run(command: string): Promise<string> {
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    NO_COLOR: "1",
    DISABLE_TELEMETRY: "true",
    HEROKU_SKIP_NEW_VERSION_CHECK: "true",
    HEROKU_HOST: world.sandbox.url,
    HEROKU_PARTICLEBOARD_URL: world.sandbox.url,
    HEROKU_API_KEY: "anything",
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [tool!, ...command.split(" ")], { env, cwd: home }, (_error, out, err) =>
      resolve(`${err} ${out}`.replace(/[\s›▸]+/g, " ")),
    );
  });
}

/** In their order: a customer's life. */
const LIFE: [command: string, reads: RegExp][] = [
  ["whoami", /owner@example\.com/],
  ["apps:info -a shop", /Pipeline: shop - production/],
  ["addons:services", /widgets widgets ga/],
  [
    "addons:plans widgets",
    /default widgets:basic Basic free free widgets:premium Premium ~\$0\.007\/hour \$5\/month/,
  ],
  [
    "addons:create widgets:premium -a shop --name mine -- --size large",
    /~\$0\.007\/hour \(max \$5\/month\).*Ready\..*Created mine as WIDGET_URL/,
  ],
  ["addons -a shop", /widgets \(mine\) .*premium ~\$0\.007\/hour \$5\/month created/],
  ["addons --all", /shop mine widgets:premium ~\$0\.007\/hour \$5\/month created/],
  ["addons:info mine", /Plan: widgets:premium .*State: created/],
  ["config -a shop", /WIDGET_URL: https:\/\/w\.example\.com/],
  ["config:set FOO=bar -a shop", /done, v4 .*FOO: bar/],
  [
    "addons:upgrade mine widgets:huge",
    /Couldn't find either.* available plans for widgets: .*widgets:premium/,
  ],
  ["addons:downgrade mine widgets:basic", /done, free Changed\./],
  ["addons:open mine --show-url", /\/marketplace\/addons\/mine\/sign-on\?at-once&app=shop/],
  ["addons:destroy mine --confirm wrong", /did not match/],
  ["addons:destroy mine --confirm shop", /Destroying .*mine.* on .*shop.* done/],
  ["addons:info mine", /Couldn't find that add-on\./],
  ["addons -a nowhere", /Couldn't find that app\./],
];

(tool ? it : it.skip)(
  "the customers' own tool leads an add-on through its life, and shows prices",
  async () => {
    for (const [command, reads] of LIFE) expect(`${command}: ${await run(command)}`).toMatch(reads);
    expect(JSON.parse(world.partner.requests[0]!.body)).toMatchObject({ options: { size: "large" } });
  },
  // Of each of its processes the tool needs seconds to load.
  300_000,
);
