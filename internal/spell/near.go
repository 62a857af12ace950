package spell

import "unicode/utf8"

// maxMisspelt bounds the work on a name that no candidate can be meant by, in
// code points.
const maxMisspelt = 256

// EditDistance is the Levenshtein distance of two names in code points, or
// limit+1 when it is larger than limit.
func EditDistance(a, b string, limit int) int {
	beyond := limit + 1
	la, lb := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	if limit < 0 || max(la-lb, lb-la) > limit {
		return beyond
	}
	text, name := []rune(a), []rune(b)
	row := make([]int, lb+1)
	for j := range row {
		row[j] = min(j, beyond)
	}
	for i, r := range text {
		// Only cells within the limit of the diagonal can matter.
		from, to := max(1, i+1-limit), min(lb, i+1+limit)
		diagonal := row[from-1]
		row[from-1] = beyond
		if from == 1 {
			row[0] = min(i+1, beyond)
		}
		best := row[from-1]
		for j := from; j <= to; j++ {
			cost := diagonal
			if name[j-1] != r {
				cost = 1 + min(diagonal, row[j-1], row[j])
			}
			diagonal, row[j] = row[j], min(cost, beyond)
			best = min(best, row[j])
		}
		if best > limit {
			return beyond
		}
	}
	return row[lb]
}

// Nearest returns the candidate that a misspelt word probably means: the first of
// the nearest within a third of the word's length, one edit at least; "" when none
// is. It serves suggestions in error messages.
func Nearest(word string, candidates []string) string {
	return NearestWithin(max(1, utf8.RuneCountInString(word)/3), word, candidates)
}

// NearestWithin is Nearest within that many edits; two neighbours swapped are one.
func NearestWithin(edits int, word string, candidates []string) string {
	if utf8.RuneCountInString(word) > maxMisspelt {
		return ""
	}
	best := ""
	for _, c := range candidates {
		d := 1
		if !swapped(word, c) {
			d = EditDistance(word, c, edits)
		}
		if d <= edits && d < max(len(word), len(c)) {
			best, edits = c, d-1
		}
	}
	return best
}

// swapped reports that two bytes beside each other are all that differs.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
