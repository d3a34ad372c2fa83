import { path, rawPath } from "../../src/platform/path.ts";
import { aBench, OTHER, UUID } from "./api-client.ts";

describe("the path tag", () => {
  it("encodes its values", () => {
    expect(path`/apps/${"a/b?c#d%2e"}/x`).toBe("/apps/a%2Fb%3Fc%23d%252e/x");
    expect(path`/apps`).toBe("/apps");
  });

  it.each(["", ".", ".."])("refuses the segment %j", (segment) => {
    expect(() => path`/apps/${segment}/addons`).toThrow(expect.objectContaining({ id: "invalid_path" }));
  });

  it("refuses dots that only combine to the segment", () => {
    expect(() => path`/apps/.${"."}`).toThrow(/segment "\.\."/);
  });
});

describe("a path given to kit api", () => {
  const own = { apiUrl: "https://api.example/v3", uuid: UUID };

  it.each([
    ...["/apps", "/addons", "/addons/", `/addons/${UUID}`, `/addons/${UUID.toUpperCase()}/config`],
    ...["/apps/a/log-drains/https%3A%2F%2Flogs.example", "/users/~/apps?a=b%20c&d=/x?y"],
    ...["/users/a@b.example/apps", `/apps/a/addons/${OTHER}`],
  ])("is accepted: %s", (typed) => {
    expect(rawPath(typed, own)).toBe(typed);
  });

  it.each([
    ...["", "apps", "//evil.example/apps", "/\\evil.example", "https://evil.example/apps", "@evil.example"],
    ...[".evil.example", ":1/apps", "/apps/../addons", "/apps/./x", "/apps/..", "/apps/%2e%2e/x"],
    ...["/apps/%2E./x", "/apps/..%2faddons", "/apps//x", "/apps/a b", "/apps/a\r\nhost: x", "/apps/\tx"],
    ...["/apps/ä", "/apps#x", "/apps/%", "/apps/%zz"],
  ])("is refused: %j", (typed) => {
    expect(() => rawPath(typed, own)).toThrow(expect.objectContaining({ id: "invalid_path" }));
  });

  it.each([
    ...[`/addons/${OTHER}`, `/addons/${OTHER}/config`, `/ADDONS/${OTHER}`, `/%61ddons/${OTHER}`],
    ...[`/addons%2F${OTHER}`, `/%2Faddons/${OTHER}`, "/addons/its-name", `/addons/${UUID}x?a=b`],
  ])("is refused when it leads to another resource: %s", (typed) => {
    expect(() => rawPath(typed, own)).toThrow(expect.objectContaining({ id: "foreign_resource" }));
  });

  it("is never called with another resource's token", async () => {
    const bench = await aBench((_seen, response) => response.end("[]"));
    const foreign = expect.objectContaining({ id: "foreign_resource" });
    for (const mine of [UUID, OTHER]) {
      const other = mine === UUID ? OTHER : UUID;
      const api = bench.forResource(mine);
      await expect(api.request("GET", `/addons/${other}/config`)).rejects.toEqual(foreign);
      await api.request("GET", `/addons/${mine}/config`);
      await api.config.get();
    }
    expect(bench.seen.map(({ url }) => url)).toEqual(
      [UUID, UUID, OTHER, OTHER].map((id) => `/addons/${id}/config`),
    );
    await bench.close();
  });
});
