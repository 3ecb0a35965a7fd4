# Sets one value in a file of nested YAML mappings, and leaves every other byte
# as it is. From the environment: KEY, names with dots between them, and RAW,
# the value wanted. It ends with 3 where the file is not plainly written.
BEGIN {
	n = split(ENVIRON["KEY"], want, ".")
	indent[0] = -1
}

{ line[NR] = $0 }

END {
	for (i = 1; i <= NR; i++)
		look(i)
	if (!found)
		add()
	for (i = 1; i <= NR; i++)
		print line[i]
	for (i = 1; i <= more; i++)
		print extra[i]
}

function look(i,    s, in_, name, rest) {
	s = line[i]
	if (s ~ /^[ \t\r]*(#.*)?$/ || s ~ /^%/)
		return
	if (s ~ /^(---|[.][.][.])/) {
		if (i > 1)
			exit 3
		return
	}
	match(s, /^ */)
	in_ = RLENGTH
	while (depth > 0 && in_ <= indent[depth])
		depth--
	if (!(depth in kid))
		kid[depth] = in_
	s = substr(s, in_ + 1)
	if (in_ != kid[depth] || !match(s, /^[^:#]+:/))
		return
	name = substr(s, 1, RLENGTH - 1)
	rest = substr(s, RLENGTH + 1)
	if (name != want[depth + 1])
		return
	if (depth + 1 == n) {
		found = i
		line[i] = substr(line[i], 1, in_ + RLENGTH) valued(rest)
		return
	}
	if (rest !~ /^[ \t]*(#.*)?\r?$/)
		exit 3
	depth++
	indent[depth] = in_
	delete kid[depth]
	if (depth > best)
		best = depth
	at[depth] = i
}

# valued gives what follows the colon with the value wanted in it.
function valued(rest,    gap, end) {
	match(rest, /^[ \t]*/)
	gap = substr(rest, 1, RLENGTH)
	rest = substr(rest, RLENGTH + 1)
	if (rest ~ /^[|>&*{!]/ || rest ~ /^\[/)
		exit 3
	if (gap == "")
		gap = " "
	end = ""
	if (match(rest, /^"([^"\\]|\\.)*"/) || match(rest, /^'([^']|'')*'/))
		end = substr(rest, RLENGTH + 1)
	else if (match(rest, /[ \t]+#.*$/) || match(rest, /[ \t]*\r?$/))
		end = substr(rest, RSTART)
	return gap ENVIRON["RAW"] end
}

# add writes the rest of the key below the deepest mapping that is there.
function add(    in_, text, d) {
	in_ = (best in kid) ? kid[best] : best ? indent[best] + 2 : 0
	for (d = best + 1; d <= n; d++) {
		text = text (d > best + 1 ? "\n" : "") blanks(in_) want[d] ":"
		in_ += 2
	}
	text = text " " ENVIRON["RAW"]
	if (best)
		line[at[best]] = line[at[best]] "\n" text
	else
		extra[++more] = text
}

function blanks(count,    s) {
	while (length(s) < count)
		s = s " "
	return s
}
