import { endpointOf } from "../../src/metrics/measured.ts";
import { clientEndpoints } from "../support/client-endpoints.ts";

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
