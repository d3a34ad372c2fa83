import nock from "nock";
import { createPlatformFor } from "../../src/platform/api.ts";
import { createHttp } from "../../src/platform/http.ts";
import { createTokenEndpoint } from "../../src/platform/oauth.ts";
import { Secret } from "../../src/secret.ts";
import { aTokenSource, MEDIA_TYPE, UUID } from "./api-client.ts";

/** Over https through nock, as the tests of the whole service simulate a faulty platform. */
describe("the platform mocked with nock", () => {
  const http = createHttp({ timeoutMs: 1_000 });
  const platformFor = createPlatformFor({
    ...{ http, apiUrl: "https://api.example", mediaType: MEDIA_TYPE },
    tokensOf: () => aTokenSource().tokens,
  });
  const endpoint = createTokenEndpoint({ http, authUrl: "https://auth.example", timeoutMs: 1_000 });
  const secret = new Secret("secret");

  beforeAll(() => nock.disableNetConnect());
  afterEach(() => {
    expect(nock.pendingMocks()).toEqual([]);
    nock.abortPendingRequests();
    nock.cleanAll();
  });
  afterAll(async () => {
    await http.close();
    nock.enableNetConnect();
    nock.restore();
  });

  it("answers API calls", async () => {
    nock("https://api.example", { reqheaders: { authorization: "Bearer token-1" } })
      .get(`/addons/${UUID}`)
      .reply(200, { id: UUID });
    await expect(platformFor(UUID).addons.own()).resolves.toEqual({ id: UUID });
  });

  it("issues tokens", async () => {
    nock("https://auth.example")
      .post("/oauth/token", { grant_type: "refresh_token", refresh_token: "secret", client_secret: "secret" })
      .reply(201, { access_token: "a" });
    await expect(endpoint.refresh(secret, secret)).resolves.toMatchObject({ outcome: "issued" });
  });
});
