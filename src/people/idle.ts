/** In SQL: whether a session was used lately. One that nobody used for an hour ends, however much of its time is left. */
export const IS_IN_USE = `seen_at > now() - interval '60 minutes'`;

/** In SQL: whether the use of a session is to be stored: only this often, so that most requests write nothing. */
export const IS_TO_NOTE = `seen_at < now() - interval '5 minutes'`;
