import { rawHttp } from "../support/raw-http.ts";
import { aWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => void (world = await aWorld()));
afterAll(() => world.close());

it.each(["GET /healthz", "GET /nothing", "POST /healthz", "POST /resources"])(
  "an answer to %s carries the request's id and the headers of every answer",
  async (line) => {
    const [method, path] = line.split(" ");
    const { headers } = await fetch(`${world.service.url}${path}`, {
      method: method!,
      headers: { "request-id": "the-id-of-the-request" },
    });
    expect(Object.fromEntries(headers)).toMatchObject({
      "request-id": "the-id-of-the-request",
      "x-content-type-options": "nosniff",
      "strict-transport-security": "max-age=31536000",
    });
  },
);

it("an answer to a request that no code of ours has seen carries none", async () => {
  for (const lines of [
    "GET / HTTP/1.1",
    "GET / HTTP/1.1\r\nHost: here\r\nExpect: nothing",
    "GET http://[ HTTP/1.1\r\nHost: here",
  ]) {
    const { statuses, text } = await rawHttp(world.service.url!, `${lines}\r\nConnection: close\r\n\r\n`);
    expect(statuses[0]).toBeGreaterThanOrEqual(400);
    expect(text.toLowerCase()).not.toContain("request-id");
  }
});
