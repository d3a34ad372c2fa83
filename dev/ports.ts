import { createServer } from "node:net";
import { KitError } from "../src/errors.ts";

/** Another process listens on a port that is needed. */
export class PortBusy extends KitError {
  constructor(port: number, what: string, variable: string) {
    super(
      "port_busy",
      `Port ${port}, for ${what}, is in use: stop what listens there (another npm run dev?), or choose another with ${variable}=…`,
    );
  }
}

/** Throws {@link PortBusy} before anything is opened, so that nothing has to be closed again. */
export async function checkPort(port: number, what: string, variable: string, host?: string): Promise<void> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ port, ...(host && { host }) }, resolve);
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") throw new PortBusy(port, what, variable);
    throw error;
  } finally {
    server.close();
  }
}
