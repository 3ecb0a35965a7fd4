package inventory

// Die lets go of a book as if its run had been killed, and gives its file.
func (b *Book) Die() string { b.unlock(); return b.file }

// Turn makes a book go on in a new file after so many records.
func (b *Book) Turn(after int) { b.most = after }

// Volumes is how many files were before this one.
func (b *Book) Volumes() int { return b.volume }
