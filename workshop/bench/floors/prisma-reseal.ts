import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "../../../src/database/client/client.ts";
import { Secret } from "../../../src/secret.ts";
import { createVault } from "../../../src/vault/vault.ts";

// The floor of a key rotation: credentials are read in pages of 500, and each is opened, sealed with the same vault as
// the service's, and written by itself through Prisma.

const { DATABASE_URL = "", ENCRYPTION_KEY = "", DECRYPTION_KEYS = "", COUNT = "" } = process.env;
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: DATABASE_URL, max: 10 }) });
const vault = await createVault({
  encryptionKey: new Secret(ENCRYPTION_KEY),
  decryptionKeys: [new Secret(DECRYPTION_KEYS)],
});

function resealed(column: string, uuid: string, sealed: Uint8Array): Uint8Array<ArrayBuffer> {
  const place = { table: "credentials", column, uuid };
  return vault.seal(place, vault.open(place, sealed));
}

const select = { uuid: true, sealedAccessToken: true, sealedRefreshToken: true } as const;
const startedAt = performance.now();
let done = 0;
for (let after: string | undefined; done < Number(COUNT);) {
  const where = after === undefined ? {} : { uuid: { gt: after } };
  const page = await prisma.credential.findMany({ select, where, orderBy: { uuid: "asc" }, take: 500 });
  if (page.length === 0) break;
  for (const { uuid, sealedAccessToken: access, sealedRefreshToken: refresh } of page) {
    const data = {
      sealedAccessToken: access && resealed("sealed_access_token", uuid, access),
      sealedRefreshToken: refresh && resealed("sealed_refresh_token", uuid, refresh),
    };
    await prisma.credential.update({ where: { uuid }, data, select: { uuid: true } });
    done += 1;
    after = uuid;
  }
}
console.log(JSON.stringify({ rows: done, perSecond: done / ((performance.now() - startedAt) / 1_000) }));
process.exit();
