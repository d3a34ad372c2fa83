import { describe, expect, it } from "@jest/globals";
import { endpointOf } from "../../src/metrics/platform-endpoints.ts";
import { clientEndpoints } from "../support/client-endpoints.ts";

describe("the endpoint of a call", () => {
  it("is known for everything the client can ask for", async () => {
    const endpoints = await clientEndpoints();
    expect(endpoints.length).toBeGreaterThan(30);
    for (const endpoint of endpoints) {
      const [method, path] = endpoint.split(" ") as [string, string];
      const filled = path.replaceAll(":id", "0123-somebody%2Fs");
      expect(endpointOf(method, `https://platform.example${filled}`)).toBe(endpoint);
      expect(endpointOf(method, `https://platform.example/below/a/path${filled}?since=1`)).toBe(endpoint);
    }
  });

  it.each(["/", "/somebody", "/addons-of/somebody", "/apps/somebody/releases", "/addons/a/b/c/d/e"])(
    "is other for %s, which nobody has heard of",
    (path) => expect(endpointOf("GET", `https://platform.example${path}`)).toBe("other"),
  );

  it("is other for a method that nobody has heard of", () => {
    expect(endpointOf("SOMEBODY", "https://platform.example/addons")).toBe("other");
  });
});
