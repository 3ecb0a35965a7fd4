// Package ledger keeps what the lab's trials leave: which experiments there
// were, a record of every trial, and the files that go with it. It is kept in
// a directory, or in a PostgreSQL database that a team shares.
//
// # A directory
//
//	ledger.sqlite   SQLite, write-ahead log, every commit synced
//	files/ab/cd/…   files by the SHA-256 of their contents
//	files/new/      files that are just being written
//	locks/          one per experiment, held while a lab runs it
//
// It belongs on a local filesystem: SQLite's write-ahead log and flock are not
// safe over NFS.
//
// # PostgreSQL
//
// postgres://user@host/database, in which everything is in the schema
// plumb_lab, also the files. The database must be in UTF-8. The first lab makes
// the schema, or somebody makes it before and lets the labs create tables in
// it. The lock of an experiment is an advisory lock of a session, so a pooler
// between the two must not share sessions (pgbouncer: pool_mode = session).
//
// # The tables
//
// They are there to be asked with sqlite3 and psql, and are the same in both.
// What is not known is NULL. Times are in UTC; SQLite has them as text,
// 2026-11-21T12:00:00.000Z.
//
//	ledger       version       of this layout
//
//	experiment   hash          of what decides the trials, hexadecimal
//	             name, question
//	             defined       when it was first run
//	             plumb         version of plumb that did
//
//	wording      place         in order; the last of an experiment is in force
//	             experiment    hash
//	             written       when it was first seen
//	             plumb         version
//	             text          the file: what does not decide the trials, such as
//	                           comments and the stop rule, may change
//
//	trial        place         in order of beginning
//	             id            unique
//	             experiment    hash
//	             block, position, arm, attempt
//	             state         begun, finished
//	             began, ended
//	             valid         whether it counts; NULL until it is finished
//	             marks         why it does not: kinds, with commas
//	             remarks       kinds, with commas
//	             metric        the value that is compared
//	             rate, rate_low, rate_high   operations a second, 95 % interval
//	             program       product and version of the server
//	             plumb         version
//	             record        everything, as JSON: ops, series, costs, settings
//
//	file         sha256, bytes   (PostgreSQL)
//
// For example, the trials of sync-binlog that count, in SQLite:
//
//	SELECT block, arm, metric, json_extract(record, '$.setup.volume.filesystem')
//	FROM trial t JOIN experiment e ON e.hash = t.experiment
//	WHERE e.name = 'sync-binlog' AND valid ORDER BY t.place;
//
// JSON knows no NaN and no infinities. Such a number is null in the record, and
// "not_numbers" in it tells which it was, so that reading gives it back.
//
// # What holds
//
// A trial is a row before it starts, so one that was killed shows. A finished
// row is never changed, and nothing is ever deleted. Any number of labs write at
// the same time; only one at a time runs a given experiment.
package ledger
