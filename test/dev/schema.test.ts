import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { testServerUrl } from "../support/database.ts";

// A vendor's models and migrations, compared as `npm run check -- schema` compares them.

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), "addon-models-"))));
afterEach(() => rm(folder, { recursive: true }));

async function migration(name: string, script: string) {
  const place = path.join(folder, "migrations", name);
  await mkdir(place, { recursive: true });
  await writeFile(path.join(place, "migration.sql"), script);
}
const models = (text: string) => writeFile(path.join(folder, "schema.prisma"), text);

async function compared() {
  const words = ["--import", "tsx", "dev/schema.ts", folder];
  const env = { ...process.env, DATABASE_URL: testServerUrl() };
  const ran = promisify(execFile)(process.execPath, words, { env });
  const { code, stderr } = await ran.then(
    ({ stderr }) => ({ code: 0, stderr }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
  );
  return { code, said: stderr.replaceAll(folder, "FOLDER").trim() };
}

/** Of every kind of column, with names of their own, a relation, and an enum. */
const METERS = `
enum Unit {
  litres
  Cups

  @@map("units")
}

/// A meter. // No column: a comment
model Meter {
  id      BigInt    @id @default(autoincrement())
  uuid    String    @db.Uuid
  day     DateTime  @db.Date
  unit    Unit      @default(litres)
  label   String?   @map("the_label") @db.VarChar(40) // model Not {
  price   Decimal   @db.Decimal(10, 2)
  weight  Float
  counts  Int[]
  about   Json
  proof   Bytes?
  at      DateTime  @default(now()) @db.Timestamptz(6)
  since   DateTime
  where   Unsupported("point")?
  reading Reading[]

  @@map("meters")
}

model Reading {
  meterId BigInt  @map("meter_id")
  number  Int     @db.SmallInt
  isLast  Boolean @map("is_last")
  meter   Meter   @relation(fields: [meterId], references: [id])

  @@id([meterId, number])
  @@map("readings")
}
`;

it("a model without a migration is named with the statement that makes its table; with that they agree", async () => {
  await models(METERS);
  await migration("20270101000000_units", `CREATE TYPE units AS ENUM ('litres', 'Cups');`);
  const before = await compared();
  expect(before.code).toBe(1);
  expect(before.said).toMatch(
    /^The model Meter of FOLDER\/schema\.prisma has no table yours\.meters: no migration makes it\. Add FOLDER\/migrations\/\w+_meters\/migration\.sql:$/m,
  );
  expect(before.said).toMatch(/^The model Reading /m);
  await migration("20270102000000_meters", before.said.replaceAll(/^The .*$/gm, ""));
  expect(await compared()).toEqual({ code: 0, said: "" });
});

it("each other difference is named with its cure", async () => {
  await models(METERS);
  await migration(
    "20270101000000_by_hand",
    `CREATE TYPE units AS ENUM ('litres', 'Cups');
     CREATE TABLE meters (id bigserial PRIMARY KEY, uuid text NOT NULL, day date NOT NULL, unit units NOT NULL,
       the_label varchar(40), price numeric(10,2) NOT NULL, weight float8, counts int[] NOT NULL, about jsonb NOT NULL,
       proof bytea, at timestamptz NOT NULL, "where" point, colour text);
     CREATE TABLE readings (meter_id bigint NOT NULL, number smallint NOT NULL, is_last boolean NOT NULL,
       PRIMARY KEY (number, meter_id));
     CREATE TABLE pipes (id int)`,
  );
  const { code, said } = await compared();
  expect(code).toBe(1);
  expect(said.split("\n")).toEqual([
    "The model Meter of FOLDER/schema.prisma has uuid as uuid NOT NULL, and the migrations make it text NOT NULL. Correct the model, or change the column in a new migration.",
    "The model Meter of FOLDER/schema.prisma has weight as double precision NOT NULL, and the migrations make it double precision. Correct the model, or change the column in a new migration.",
    "The model Meter of FOLDER/schema.prisma has a column since that yours.meters lacks: no migration makes it. Add one to FOLDER/migrations/ (rows that are there need a DEFAULT, or a column that may be null):",
    'ALTER TABLE "meters" ADD COLUMN "since" timestamp(3) without time zone NOT NULL;',
    "The migrations make the column yours.meters.colour (text), of which the model Meter of FOLDER/schema.prisma has no field. Add one (with @ignore if only SQL uses the column), or drop the column in a new migration.",
    "The model Reading of FOLDER/schema.prisma has (meter_id, number) as its key, and yours.readings (number, meter_id). Correct the model, or change the key in a new migration.",
    "The migrations make the table yours.pipes, of which FOLDER/schema.prisma has no model. Add one (with @@ignore if only SQL uses the table), or drop the table in a new migration.",
  ]);
});

it.each([
  [
    "that Prisma does not take is refused in its words",
    "  id Strin @id",
    /Type "Strin" is neither a built-in type/,
  ],
  [
    "that is not formatted is named with the command",
    "   id Int @id",
    /^\S+\/schema\.prisma is not formatted\. Run: npx prisma format --schema /m,
  ],
  ["that is well written is taken", "  id Int @id", /^$/],
])("a schema %s", async (_, field, expected) => {
  const datasource = `datasource db {\n  provider = "postgresql"\n}\n`;
  await models(`${datasource}\nmodel Meter {\n${field}\n}\n`);
  const words = ["prisma/check.mjs", path.join(folder, "schema.prisma")];
  const said = await promisify(execFile)(process.execPath, words).catch((error: { stderr: string }) => error);
  expect(said.stderr).toMatch(expected);
  expect("code" in said).toBe(said.stderr !== "");
});
