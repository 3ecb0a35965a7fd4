// Package explain finds what there is to say of a rule, a setting or a fact
// beyond its own text: what experiments and real hosts showed, and who uses it.
package explain
