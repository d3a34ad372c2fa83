import { PLAYED, playPlatform } from "../support/played-platform.ts";
import { opened } from "../support/world.ts";
import { anHttp, aServer } from "./local-server.ts";

// What the tests that play the platform rely on: the network is closed, and nothing undeclared or unused goes unnoticed.
const platform = opened(() => Promise.resolve(playPlatform()));
const http = anHttp();

const CLIENTS: [string, (url: string) => Promise<unknown>][] = [
  ["node's client", (url) => http.send({ method: "GET", url })],
  ["fetch", (url) => fetch(url)],
];

it.each(CLIENTS)("no call of %s leaves, not even to a server that is there", async (_, get) => {
  const { url, seen } = await aServer((_seen, response) => void response.end("real"));
  await get(`${url}/own`);
  // Under its other name the same server is a stranger's.
  const stranger = url.replace("127.0.0.1", "localhost");
  await expect(get(`${stranger}/x`)).rejects.toThrow();
  expect(seen.map(({ url: path }) => path)).toEqual(["/own"]);
  expect(platform.undeclared()).toEqual([`GET ${new URL(stranger).host}/x`]);
});

it.each(CLIENTS)("a call of %s to the platform that was not declared fails, and is named", async (_, get) => {
  platform.answers("GET /apps", { body: [] });
  await expect(get(`${PLAYED.PLATFORM_API_URL}/addons`)).rejects.toThrow();
  expect(platform.undeclared()).toEqual(["GET api.platform.example/addons"]);
  expect(platform.calls()).toEqual([]);
  expect(platform.unused()).toEqual(["GET https://api.platform.example:443/apps"]);
});
