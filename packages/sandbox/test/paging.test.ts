import { aWorld, type TestWorld } from "./world.ts";

type Named = { id: string; name: string };

let world: TestWorld;
let token: string;
let addon: string;
let apps: Named[];
beforeAll(async () => {
  world = await aWorld();
  const installed = await world.installed();
  token = installed.token;
  addon = installed.addon.id;
  for (let count = 1; count < 450; count++)
    world.control.attach(addon, { app: world.control.createApp().id });
  apps = world.control.state().apps;
});
afterAll(() => world.close());

/** All pages of a list, from a first Range (none: the platform's default) to the page without a Next-Range. */
async function pagesOf(path: string, first?: string, between = () => {}) {
  const pages: { status: number; range: string | null; rows: Named[] }[] = [];
  for (let range: string | null | undefined = first; range !== null; between()) {
    const page: Awaited<ReturnType<typeof world.call<Named[]>>> = await world.call(token, path, {
      headers: range === undefined ? {} : { range },
    });
    pages.push({ status: page.status, range: page.headers.get("content-range"), rows: page.body });
    range = page.headers.get("next-range");
  }
  return pages;
}

const sorted = (texts: string[]) => [...texts].sort();
const idsOf = (pages: { rows: Named[] }[]) => pages.flatMap(({ rows }) => rows.map(({ id }) => id));

it.each(["/apps", "/users/~/apps", "ADDON/addon-attachments", "/pipelines", "/pipeline-couplings"])(
  "%s has pages of 200 in the order of ids, each object once",
  async (path) => {
    const pages = await pagesOf(path.replace("ADDON", `/addons/${addon}`));
    expect(pages.map(({ status, rows }) => [status, rows.length])).toEqual([
      [206, 200],
      [206, 200],
      [200, 50],
    ]);
    const ids = idsOf(pages);
    expect(ids).toEqual(sorted(ids));
    expect(new Set(ids).size).toBe(450);
    expect(pages.map(({ range }) => range)).toEqual(
      [0, 200, 400].map((from) => `id ${ids[from]}..${ids[Math.min(from + 199, 449)]}; max=200`),
    );
  },
);

it("a page has at most 1000 objects, and at least one", async () => {
  const [all] = await pagesOf("/apps", "id ..; max=1000");
  expect(all).toMatchObject({ status: 200, rows: { length: 450 } });
  const one = await world.call<Named[]>(token, "/apps", { headers: { range: "id ..; max=1" } });
  expect([one.status, one.body.length, one.headers.get("accept-ranges")]).toEqual([
    206,
    1,
    "id, name, created_at, updated_at",
  ]);
});

it("a range starts and ends where it says", async () => {
  const ids = sorted(apps.map(({ id }) => id));
  expect(idsOf(await pagesOf("/apps", `id ${ids[3]}..${ids[7]}; max=2`))).toEqual(ids.slice(3, 8));
  expect(idsOf(await pagesOf("/apps", `id ]${ids[3]}..${ids[7]}`))).toEqual(ids.slice(4, 8));
  const [from80] = await pagesOf("/apps", "id 80..; max=5");
  expect(from80!.rows.map(({ id }) => id)).toEqual(ids.filter((id) => id >= "80").slice(0, 5));
  expect(idsOf(await pagesOf("/apps", "id ff..00"))).toEqual([]);
});

it.each([
  "bytes=0-5",
  "id",
  "id 0",
  "id ..; max=0",
  "id ..; max=1001",
  "id ..; max=-1",
  "id ..; max=1e2",
  "id ..; max=",
  "id ..; order=up",
  "id ..; size=5",
  "id xyz..",
  "version ..",
  "created_at yesterday..",
  "updated_at 2026-13-01..",
  "..",
])("Range: %s is refused", async (range) => {
  const answer = await world.call(token, "/apps", { headers: { range } });
  expect(answer).toMatchObject({ status: 416, body: { id: "requested_range_not_satisfiable" } });
});

it("an object that is renamed during paging is neither lost nor repeated", async () => {
  let round = 0;
  const pages = await pagesOf("/apps", "id ..; max=100", () => {
    round += 1;
    for (const index of [0, 120, 250, 449]) {
      world.control.renameApp(apps[index]!.id, `renamed-${round}-${index}`);
    }
  });
  expect(sorted(idsOf(pages))).toEqual(sorted(apps.map(({ id }) => id)));
});
