// Package guard has the system itself look after what was laid out: a server is not started
// without its mounts, may go where its data are, and its disks are scrubbed and trimmed. What it gives
// is done and taken back by package change; where the system sees to it already, it gives nothing.
package guard
