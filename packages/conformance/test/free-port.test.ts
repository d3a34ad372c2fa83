import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, it } from "@jest/globals";
import { startExample } from "../examples/service/service.ts";
import { freePort } from "../free-port.ts";

it("freePort returns no port that the system may assign to another process meanwhile", async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(ports.filter((port) => port < 1024 || port >= 32_768)).toEqual([]);
});

it("the example service says at once when its port is taken", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  const credentials = { addonId: "example", addonPassword: "p", clientSecret: "c", ssoSalt: null };
  const addresses = { platformApiUrl: "http://127.0.0.1:9", platformAuthUrl: "http://127.0.0.1:9" };
  await expect(startExample({ port, ...credentials, ...addresses })).rejects.toThrow("EADDRINUSE");
  taken.close();
});
