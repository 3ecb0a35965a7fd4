package space

import "fmt"

// held is how many of the values that came were within the ranges of forecasts from short
// pasts, in per cent.
type held struct{ each, known, ahead, in80, in95 int }

// measured is what real series gave that were only shown for so many days, and each so many days: the growth of
// 24 public repositories, 324 to 419 forecasts each; see research/forecast. In order of these.
var measured = []held{
	{1, 14, 7, 53, 66}, {1, 14, 14, 54, 66}, {1, 14, 30, 40, 59},
	{1, 21, 7, 64, 77}, {1, 21, 14, 60, 74}, {1, 21, 30, 53, 66},
	{1, 30, 7, 74, 84}, {1, 30, 14, 69, 81}, {1, 30, 30, 57, 73}, {1, 30, 90, 47, 63},
	{1, 45, 7, 78, 86}, {1, 45, 14, 75, 87}, {1, 45, 30, 67, 81}, {1, 45, 90, 54, 71},
	{1, 60, 7, 80, 89}, {1, 60, 14, 78, 88}, {1, 60, 30, 70, 83}, {1, 60, 90, 58, 76},
	{1, 90, 7, 82, 93}, {1, 90, 14, 81, 90}, {1, 90, 30, 75, 89}, {1, 90, 90, 66, 81},
	{1, 180, 7, 84, 94}, {1, 180, 14, 85, 93}, {1, 180, 30, 78, 91}, {1, 180, 90, 75, 86},
	{1, 365, 7, 84, 96}, {1, 365, 14, 86, 96}, {1, 365, 30, 83, 93}, {1, 365, 90, 77, 90},
	{3, 42, 7, 79, 87}, {3, 42, 14, 77, 86}, {3, 42, 30, 60, 78}, {3, 42, 90, 52, 69},
	{3, 63, 7, 79, 89}, {3, 63, 14, 77, 88}, {3, 63, 30, 68, 82}, {3, 63, 90, 59, 77},
	{3, 90, 7, 81, 93}, {3, 90, 14, 81, 90}, {3, 90, 30, 74, 87}, {3, 90, 90, 69, 83},
	{3, 156, 7, 82, 94}, {3, 156, 14, 83, 93}, {3, 156, 30, 77, 92}, {3, 156, 90, 76, 89},
	{7, 98, 7, 80, 93}, {7, 98, 14, 80, 91}, {7, 98, 30, 75, 89}, {7, 98, 90, 68, 83},
	{7, 147, 7, 81, 94}, {7, 147, 14, 83, 94}, {7, 147, 30, 78, 92}, {7, 147, 90, 77, 90},
	{7, 210, 7, 83, 95}, {7, 210, 14, 86, 94}, {7, 210, 30, 77, 90}, {7, 210, 90, 75, 87},
	{7, 364, 7, 84, 95}, {7, 364, 14, 86, 96}, {7, 364, 30, 82, 93}, {7, 364, 90, 78, 90},
	{10, 140, 14, 82, 94}, {10, 140, 30, 79, 93}, {10, 140, 90, 75, 88},
	{10, 210, 14, 83, 93}, {10, 210, 30, 78, 91}, {10, 210, 90, 75, 87},
	{10, 300, 14, 84, 95}, {10, 300, 30, 82, 93}, {10, 300, 90, 76, 89},
	{10, 520, 14, 83, 95}, {10, 520, 30, 81, 93}, {10, 520, 90, 80, 89},
}

// What ranges are to hold at least, in per cent; where they held less, it is told.
const (
	goal80 = 75
	goal95 = 90
)

// doubtOf says how much less the ranges from a short past held than they say; "" where they
// held what they are to hold. What was read as seldom, or more seldom, is like it.
func doubtOf(history, ahead, each int) string {
	var like held
	for _, h := range measured {
		switch {
		case h.each < each || like.each > 0 && h.each > like.each:
		case like.each == 0:
			like, history = h, max(history, h.known)
		case h.known <= history && (h.known > like.known || like.ahead < ahead):
			like = h // the most days known, and then the first that are as many ahead, or the last
		}
	}
	if like.in80 >= goal80 && like.in95 >= goal95 {
		return ""
	}
	seldom := ""
	if like.each > 1 {
		seldom = fmt.Sprintf(", one in %d", like.each)
	}
	return fmt.Sprintf("the past is short: of real series of which %d days were known%s, %d %% of what came %d days later was within such a range of 80 %%, and %d %% within that of 95 %%",
		like.known, seldom, like.in80, like.ahead, like.in95)
}
