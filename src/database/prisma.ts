import type pg from "pg";
import type { PrismaClient } from "./client/client.ts";
import { noteSlow } from "./retry.ts";

/** The module that Prisma generates from a schema. */
export interface Generated<Client> {
  PrismaClient: new (options: never) => Client;
}
export interface Closable {
  $disconnect(): Promise<void>;
}

/** One call of a Prisma client. */
interface Operation {
  model?: string;
  operation: string;
  args: unknown;
  query(args: unknown): Promise<unknown>;
}

const WRITES = /^(create|update|upsert|delete)/;

/**
 * Prisma clients on the connections of `pool`. `tried`: how each operation is carried out. A client's code is loaded at its first use, because
 * loading is slow.
 */
export function prismaOn(
  pool: pg.Pool,
  onFailed: (error: unknown, failed: { name: string; isWrite: boolean }) => void,
  tried: <T>(send: () => Promise<T>) => Promise<T>,
) {
  const clients = new Map<unknown, Promise<Closable>>();

  async function clientOf<Client extends Closable>(
    load: () => Promise<Generated<Client>>,
    schema: "public" | "yours",
  ): Promise<Client> {
    const { PrismaClient } = await load();
    const client = clients.get(PrismaClient) ?? open(PrismaClient, schema);
    clients.set(PrismaClient, client);
    return client as Promise<Client>;
  }

  async function open(Client: new (options: never) => Closable, schema: string): Promise<Closable> {
    const { PrismaPg } = await import("@prisma/adapter-pg");
    const client = new Client({ adapter: new PrismaPg(pool, { schema }), errorFormat: "minimal" } as never);
    return (client as unknown as PrismaClient).$extends({ query: { $allOperations: reporting } });
  }

  function reporting({ model = "", operation, args, query }: Operation): Promise<unknown> {
    const name = `${model}.${operation}`;
    return tried(() => {
      const sentMs = performance.now();
      return query(args).catch((error: unknown) => {
        noteSlow(error, name, performance.now() - sentMs);
        onFailed(error, { name, isWrite: WRITES.test(operation) });
        throw error;
      });
    });
  }

  return {
    ofKit: (): Promise<PrismaClient> => clientOf(() => import("./client/client.ts"), "public"),
    /** The client of a vendor's own schema, whose tables are in the PostgreSQL schema `yours`. */
    ofYours: <Client extends Closable>(load: () => Promise<Generated<Client>>): Promise<Client> =>
      clientOf(load, "yours"),
    async close(): Promise<void> {
      for (const client of clients.values()) await (await client).$disconnect();
    },
  };
}
