-- The platform's calls with a wrong password since the last one with the right password, as each process has seen them.
ALTER TABLE "processes" ADD COLUMN "wrong_passwords" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "wrong_passwords_since" TIMESTAMPTZ(6),
  ADD COLUMN "right_password_at" TIMESTAMPTZ(6);
