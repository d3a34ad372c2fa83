import { freePort } from "../free-port.ts";

it("a port is returned once, as long as the process runs that was given it", async () => {
  const port = await freePort();
  await expect(freePort(port, port + 1)).rejects.toThrow("No free port was found");
});
