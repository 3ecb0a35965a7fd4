// Package schema holds the JSON Schemas of all documents that commands print.
package schema
