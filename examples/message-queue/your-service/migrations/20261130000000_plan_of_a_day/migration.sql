-- The plan by which a day is billed: that of the night in which it was first metered.
ALTER TABLE usage ADD COLUMN plan text;
CREATE INDEX usage_by_day ON usage (day);
