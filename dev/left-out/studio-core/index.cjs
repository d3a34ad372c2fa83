// Prisma's command line loads the viewer's modules at each start, and uses them in `prisma studio` alone.
module.exports = new Proxy(
  {},
  {
    get(_, name) {
      if (typeof name === "symbol" || name === "__esModule") return undefined;
      throw new Error(
        "Prisma Studio is not installed with the kit: docs/decisions.md, “What of Prisma is installed”. To look at the tables: psql.",
      );
    },
  },
);
