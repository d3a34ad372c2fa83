import { createServer, type Server } from "node:http";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { refreshNow } from "../../src/credentials/sweeps.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { partnerCalls } from "../support/partner-calls.ts";
import { aGate } from "../support/a-vendor.ts";
import { tokenPairs } from "../support/token-pairs.ts";
import { aWorld, eventually, opened, type World } from "../support/world.ts";

/** Calls to the token endpoint that are under way, each until a test lets it go on. */
const calls: { kind: "exchange" | "refresh"; goOn(): void }[] = [];
let isHeld = false;
let most = 0;

const held =
  <Given extends unknown[], Answer>(
    kind: "exchange" | "refresh",
    call: (...given: Given) => Promise<Answer>,
  ) =>
  async (...given: Given) => {
    if (isHeld) {
      const { opened, open } = aGate();
      calls.push({ kind, goOn: open });
      most = Math.max(most, calls.length);
      await opened;
    }
    return call(...given);
  };

describe("concurrent calls to the token endpoint", () => {
  const wrapTokenEndpoint = (endpoint: TokenEndpoint) => ({
    exchange: held("exchange", endpoint.exchange),
    refresh: held("refresh", endpoint.refresh),
  });
  const world = opened(() =>
    aWorld({ environment: { TOKEN_CONCURRENCY: "4" }, parts: { wrapTokenEndpoint } }),
  );
  afterEach(() => {
    isHeld = false;
    for (const { goOn } of calls.splice(0)) goOn();
  });

  it("are limited to TOKEN_CONCURRENCY for grants and refreshes together, grants first", async () => {
    const uuids = await world.installed(8);
    isHeld = true;
    await world.rows(`UPDATE credentials SET due_at = now()`);
    world.service.services.jobs.wake("refresh-tokens");
    await eventually(() => expect(calls).toHaveLength(4));
    const fresh = await tokenPairs(world).install(3);
    const leased = `SELECT 1 FROM credentials WHERE leased_until > now() AND uuid = ANY($1::uuid[])`;
    await eventually(async () => expect(await world.rows(leased, [fresh])).toHaveLength(3));
    const order: string[] = [];
    for (let ended = 0; ended < 11; ended++) {
      await eventually(() => expect(calls.length).toBe(Math.min(4, 11 - ended)));
      const { kind, goOn } = calls.shift()!;
      order.push(kind);
      goOn();
    }
    expect(order.slice(0, 4)).toEqual(Array(4).fill("refresh"));
    expect(order.slice(4, 7)).toEqual(Array(3).fill("exchange"));
    expect(most).toBe(4);
    await world.quiet([...uuids, ...fresh]);
  });
});

describe("a token that a caller waits for", () => {
  const MANY = 70;
  let server: Server;
  let world: World;
  /** Refreshes whose answers wait until a number of calls has arrived. */
  const waiting: (() => void)[] = [];
  let isLate = false;

  beforeAll(async () => {
    // A platform that answers only when all calls have arrived.
    server = createServer((request, response) => {
      request.resume().on("end", () => {
        const answer = () =>
          response.setHeader("content-type", "application/json").end(
            JSON.stringify({
              ...{ access_token: `SVCK-${randomUUID()}`, refresh_token: "the-same", token_type: "Bearer" },
              expires_in: 28_800,
            }),
          );
        if (!isLate) return answer();
        waiting.push(answer);
        if (waiting.length === MANY) for (const each of waiting) each();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    world = await aWorld({
      environment: { PLATFORM_AUTH_URL: `http://127.0.0.1:${port}`, TOKEN_CONCURRENCY: "1" },
    });
  });
  afterAll(async () => {
    await world.close();
    server.closeAllConnections();
    server.close();
  });

  it("is requested at once, without waiting for a free connection", async () => {
    const platform = partnerCalls(world);
    const requests = Array.from({ length: MANY }, () => aProvisionRequest());
    await Promise.all(requests.map((request) => platform.provision(request)));
    await eventually(async () =>
      expect(await world.rows(`SELECT 1 FROM credentials WHERE state = 'active'`)).toHaveLength(MANY),
    );
    // From here on only the test asks for tokens.
    await world.service.services.jobs.stop();
    isLate = true;
    const results = await Promise.all(requests.map(({ uuid }) => refreshNow(world.service.services, uuid)));
    expect(results.map(({ done }) => done)).toEqual(Array(MANY).fill("stored"));
  });
});
