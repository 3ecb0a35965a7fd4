package cli

// grants gives the statements that make the least user a check needs.
func grants() string { return "" }
