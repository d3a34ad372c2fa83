import { endpointOf } from "../../src/metrics/measured.ts";
import { rawPath } from "../../src/platform/path.ts";
import { clientEndpoints } from "../support/client-endpoints.ts";
import { aBench, OTHER, UUID } from "./api-client.ts";

describe("a path given to kit api", () => {
  it.each([
    ...["/apps", "/addons", "/addons/", `/addons/${UUID}`, `/addons/${UUID.toUpperCase()}/config`],
    ...["/apps/a/log-drains/https%3A%2F%2Flogs.example", "/users/~/apps?a=b%20c&d=/x?y"],
    ...["/users/a@b.example/apps", `/apps/a/addons/${OTHER}`],
  ])("is accepted: %s", (typed) => {
    expect(rawPath(typed, "https://api.example/v3", UUID)).toBe(typed);
  });

  it.each([
    ...["", "apps", "//evil.example/apps", "/\\evil.example", "https://evil.example/apps", "@evil.example"],
    ...[".evil.example", ":1/apps", "/apps/../addons", "/apps/./x", "/apps/..", "/apps/%2e%2e/x"],
    ...["/apps/%2E./x", "/apps/..%2faddons", "/apps//x", "/apps/a b", "/apps/a\r\nhost: x", "/apps/\tx"],
    ...["/apps/ä", "/apps#x", "/apps/%", "/apps/%zz"],
  ])("is refused: %j", (typed) => {
    expect(() => rawPath(typed, "https://api.example/v3", UUID)).toThrow(
      expect.objectContaining({ id: "invalid_path" }),
    );
  });

  it.each([
    ...[`/addons/${OTHER}`, `/addons/${OTHER}/config`, `/ADDONS/${OTHER}`, `/%61ddons/${OTHER}`],
    ...[`/addons%2F${OTHER}`, `/%2Faddons/${OTHER}`, "/addons/its-name", `/addons/${UUID}x?a=b`],
  ])("is refused when it leads to another resource: %s", (typed) => {
    expect(() => rawPath(typed, "https://api.example/v3", UUID)).toThrow(
      expect.objectContaining({ id: "foreign_resource" }),
    );
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
  });
});

describe("endpointOf: the endpoint label of a call", () => {
  it("is known for every call of the client", async () => {
    const endpoints = await clientEndpoints();
    expect(endpoints.length).toBeGreaterThan(30);
    for (const endpoint of endpoints) {
      const [method, path] = endpoint.split(" ") as [string, string];
      const filled = path.replaceAll(":id", "0123-somebody%2Fs");
      expect(endpointOf(method, `https://platform.example${filled}`)).toBe(endpoint);
      expect(endpointOf(method, new URL(`https://platform.example${filled}`))).toBe(endpoint);
      expect(endpointOf(method, `https://platform.example/below/a/path${filled}?since=1`)).toBe(endpoint);
    }
  });

  it.each(["/", "/somebody", "/addons-of/somebody", "/apps/somebody/releases", "/addons/a/b/c/d/e"])(
    "is other for the unknown path %s",
    (path) => expect(endpointOf("GET", `https://platform.example${path}`)).toBe("other"),
  );
});
