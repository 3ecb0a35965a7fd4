package watch

// Remembered counts what a judge keeps by the name of servers and devices.
func Remembered(j *Judge) int {
	return len(j.sessions) + len(j.statements) + len(j.checkpoints) + len(j.devices.last)
}
