import type { AddressInfo } from "node:net";
import { PrismaPg } from "@prisma/adapter-pg";
import express from "express";
import basicAuth from "express-basic-auth";
import { pino } from "pino";
import { pinoHttp } from "pino-http";
import { z } from "zod";
import { PrismaClient } from "../../../src/database/client/client.ts";
import { exchangeNaively, seal } from "./naive-exchange.ts";

// What a first version looks like, with the same libraries: Express, a zod schema, pino-http with its defaults, and
// Prisma's create on the same table. One row per request, with the grant's code sealed, in a column for which it has no
// other use. With EXCHANGE=on the grant is exchanged after the answer.

const { ADDON_ID = "", ADDON_PASSWORD = "", DATABASE_URL = "", EXCHANGE } = process.env;
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: DATABASE_URL, max: 10 }) });

const ProvisionRequest = z.object({
  uuid: z.uuid(),
  name: z.string().optional(),
  plan: z.string(),
  region: z.string(),
  options: z.record(z.string(), z.string()),
  callback_url: z.url(),
  oauth_grant: z.object({ code: z.string(), type: z.literal("authorization_code"), expires_at: z.string() }),
});

const app = express();
app.use(pinoHttp({ logger: pino() }));
app.use(basicAuth({ users: { [ADDON_ID]: ADDON_PASSWORD } }));
app.use(express.json());
app.post("/resources", async (request, response) => {
  const { success, data, error } = ProvisionRequest.safeParse(request.body);
  if (!success) return void response.status(422).json({ id: "invalid_params", message: error.message });
  const { uuid, name = null, plan, region, options, callback_url: callbackUrl, oauth_grant: grant } = data;
  await prisma.resource.create({
    data: {
      uuid,
      name,
      plan,
      appliedPlan: plan,
      region,
      options,
      callbackUrl,
      sealedConfig: seal(grant.code),
    },
  });
  response.status(202).json({ id: uuid, message: "Your teapot is being fired." });
  if (EXCHANGE === "on") await exchangeNaively(prisma, uuid, grant.code);
});
const server = app.listen(Number(process.env["PORT"]), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
