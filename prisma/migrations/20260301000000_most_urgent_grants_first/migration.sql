-- After an outage many grants are due at once; the one whose time is over first is exchanged first. Like its neighbour,
-- this index holds the grants of five minutes and no more.
CREATE INDEX "credentials_grants_urgent" ON "credentials"("grant_deadline") WHERE "state" = 'grant_pending';
