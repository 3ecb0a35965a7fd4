# Sets one value in a file of lines, and leaves every other byte as it is.
# From the environment: SECTION, the [section] that counts, or nothing; BEFORE
# and VALUE, what stands before the value in a line and the value itself, as
# regular expressions; RAW, the value wanted; LINE, the line to add where none
# sets it, or nothing when none may be added.
function pattern(s) {
	gsub(/\\t/, "\t", s)
	gsub(/\\r/, "\r", s)
	return s
}

BEGIN {
	section = ENVIRON["SECTION"]
	before = pattern(ENVIRON["BEFORE"])
	value = "^(" pattern(ENVIRON["VALUE"]) ")"
	inside = section == ""
}

{
	line[NR] = $0
	if (NR == 1 && $0 ~ /\r$/)
		cr = "\r"
	if (section != "" && $0 ~ /^[ \t]*\[/) {
		name = $0
		sub(/^[ \t]*\[[ \t]*/, "", name)
		sub(/[ \t]*\].*$/, "", name)
		inside = name == section
	}
	if (!inside)
		next
	if (section != "" && $0 !~ /^[ \t\r]*([#;!].*)?$/)
		last = NR
	if (match($0, before)) {
		head = substr($0, 1, RLENGTH)
		tail = substr($0, RLENGTH + 1)
		if (match(tail, value)) {
			found = NR
			changed = head ENVIRON["RAW"] substr(tail, RLENGTH + 1)
		}
	}
}

END {
	if (found)
		line[found] = changed
	else if (ENVIRON["LINE"] == "")
		exit 3
	else if (last)
		line[last] = line[last] "\n" ENVIRON["LINE"] cr
	for (i = 1; i <= NR; i++)
		print line[i]
	if (found || last)
		exit
	if (section != "") {
		if (NR > 0 && line[NR] !~ /^\r?$/)
			print cr
		print "[" section "]" cr
	}
	print ENVIRON["LINE"] cr
}
