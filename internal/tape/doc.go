// Package tape is the file a whole reading of a host is kept in: the fixture
// of a test, and what a person sends who asks for help.
//
// A tape is text, one JSON object a line, so that two can be compared with
// diff:
//
//	{"plumb_tape":1,"about":{…}}                                  the header
//	{"op":"file","of":["/etc/fstab"],"text":"…"}                  a call and its answer
//	{"op":"run","of":["zpool","list"],"error":"no_command","says":"…"}
//	{"op":"stat","of":["/srv"],"value":{…}}
//	{"plumb_tape_end":1,"entries":3,"sha256":"…"}                 the trailer
//
// Entries are sorted by op, then by of. Several answers to one call stand in
// the order they were given. The trailer's hash is that of all bytes before
// its line, so a cut or damaged tape is noticed. A tape may be compressed with
// gzip. Bytes that are not UTF-8 are kept as {"base64":"…"} in place of a
// string.
//
// The package knows the form, not the meaning: which calls there are is the
// business of package host. Version 1 of the format will be read for ever.
package tape
