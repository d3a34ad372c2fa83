import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Balancer {
  url: string;
  close(): Promise<void>;
}

/**
 * Plays the platform's router in front of the web processes: each connection goes to the next process that accepts it.
 */
export async function startBalancer(ports: () => number[]): Promise<Balancer> {
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer({ pauseOnConnect: true }, (client) => {
    open.add(client);
    client.on("error", () => undefined);
    client.on("close", () => open.delete(client));
    const all = ports();
    turn += 1;
    forward(client, [...all.slice(turn % (all.length || 1)), ...all.slice(0, turn % (all.length || 1))]);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      open.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function forward(client: Socket, [port, ...others]: number[]): void {
  if (port === undefined) return void client.destroy();
  const service = connect(port, "127.0.0.1");
  service.on("error", () =>
    service.connecting || !service.bytesWritten ? forward(client, others) : client.destroy(),
  );
  service.on("connect", () => {
    service.on("close", () => client.destroy());
    client.on("close", () => service.destroy());
    client.pipe(service).pipe(client);
    client.resume();
  });
}
