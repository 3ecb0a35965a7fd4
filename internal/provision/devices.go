package provision

// OfCache is what a person should know of a cache device before saying yes.
const OfCache = "it needs memory of the ARC, about 96 bytes for each record that is in it"

// OfLog is what a person should know of a log device before saying yes. One that stands alone has no mirror.
func OfLog(alone bool) []string {
	all := []string{"it must keep flushed data through a power cut (power-loss protection), which Plumb cannot check"}
	if alone {
		all = append(all, "it is not mirrored: if it fails at the same moment as the machine, the last seconds of synchronous writes are lost; zpool attach makes it a mirror")
	}
	return all
}
