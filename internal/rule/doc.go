// Package rule judges a stack by the rules of knowledge/rules. A rule says in
// data what is out of line; knowledge/README.md describes the form.
//
// [Load] reads and checks rules: keys, facts, types, texts, examples. A rule
// with a mistake does not load, and every mistake is reported with file, line
// and column. [Base.Judge] asks each rule once for every combination of things
// it binds, and answers fires, quiet or unknown: a fact nobody could read makes
// a verdict unknown unless the rest decides, which is CEL's partial evaluation.
//
// Only this package knows CEL. It reads nothing but the files it is given, and
// the same stack gives the same verdicts in the same order.
package rule
