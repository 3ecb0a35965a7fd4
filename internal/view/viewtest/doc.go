// Package viewtest has what the tests of pages share: golden files, schemas, and
// hosts and reports made by hand.
package viewtest
