// Package catalog knows every fact and knob Plumb can speak of: its kind,
// type, unit, versions, default, when a change takes effect, and how durable
// its values are. It reads knowledge/facts and knowledge/knobs; a knob is a
// fact that can be set.
package catalog
