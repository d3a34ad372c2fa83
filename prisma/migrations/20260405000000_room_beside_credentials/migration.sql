-- A credential is claimed, marked and stored again for as long as it lives. With room for a second version on its page,
-- a claim and a mark need no new entries in the indexes: half the work. Pages that are full already stay as they are.
ALTER TABLE "credentials" SET (fillfactor = 50);
