// Package rehearse writes what a rehearsal found, as text, JSON and as a page.
package rehearse
