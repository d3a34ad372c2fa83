// Prisma's command line loads its development server's modules at each start, and uses them in `prisma dev` alone.
module.exports = new Proxy(
  {},
  {
    get(_, name) {
      if (typeof name === "symbol" || name === "__esModule" || name === "default") return undefined;
      throw new Error(
        "Prisma's development server is not installed with the kit: docs/decisions.md, “What of Prisma is installed”. npm run dev starts a PostgreSQL.",
      );
    },
  },
);
