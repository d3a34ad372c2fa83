-- Since when the database has refused writes to each process, and not only when it last did.
ALTER TABLE "processes" ADD COLUMN "refused_since" TIMESTAMPTZ(6);
