CREATE TABLE usage (
  uuid uuid NOT NULL,
  day date NOT NULL,
  messages bigint NOT NULL,
  PRIMARY KEY (uuid, day)
);
