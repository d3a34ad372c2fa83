import { aWorld, opened } from "../support/world.ts";

const world = opened(() => aWorld());

it("HEAD is answered like GET", async () => {
  for (const path of ["/healthz", "/readyz"]) {
    const { status, headers } = await fetch(world.service.url! + path, { method: "HEAD" });
    const type = headers.get("content-type");
    expect([path, status, type]).toEqual([path, 200, "application/json; charset=utf-8"]);
  }
});

it.each(["GET /healthz", "GET /nothing", "POST /healthz", "POST /resources"])(
  "an answer to %s carries the request's id and the headers of every answer",
  async (line) => {
    const [method, path] = line.split(" ");
    const asked = { method: method!, headers: { "request-id": "the-id-of-the-request" } };
    const { headers } = await fetch(`${world.service.url}${path}`, asked);
    expect(Object.fromEntries(headers)).toMatchObject({
      "request-id": "the-id-of-the-request",
      "x-content-type-options": "nosniff",
      "strict-transport-security": "max-age=31536000",
    });
  },
);

it("HOST is the only address on which it listens, where it is set", async () => {
  const other = () => fetch(world.service.url!.replace(/\/\/[\w.]+/, "//127.0.0.2") + "/healthz");
  expect((await other()).status).toBe(200);
  await world.restart({ environment: { HOST: "127.0.0.1" } });
  expect(world.service.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  expect((await fetch(`${world.service.url}/healthz`)).status).toBe(200);
  await expect(other()).rejects.toThrow();
});
