package sampler

// Grants gives what makes a user with the least rights that watching needs: from
// the documentation, never taken away here.
func Grants() string {
	return `// MongoDB 4.4 and later, for plumb watch, in mongosh. serverStatus and $currentOp are all that is asked.
use admin
db.createUser({user: "plumb", pwd: passwordPrompt(), roles: ["clusterMonitor"]})
`
}
