// Package picture draws what stands on what on a host, and puts facts into words:
// the parts that check, stack and fix have in common.
package picture
